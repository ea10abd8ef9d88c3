import { Packr } from 'msgpackr';

import { InvalidArgumentError } from './errors.ts';

/**
 * `structuredClone` keeps references and cycles, `moreTypes` the classes of typed arrays, Sets and Errors. An instance of any other class is its
 * fields, whatever JSON would make of it.
 */
const packr = new Packr({ structuredClone: true, moreTypes: true, useToJSON: false });

/**
 * An object as bytes (MessagePack). What msgpackr would drop in silence, such as a function, is refused.
 *
 * @param name What the caller calls the object, for messages.
 * @throws InvalidArgumentError that says where in the object something is that has no value to send.
 */
export function packObject(object: unknown, name: string): Uint8Array {
  const obstacle = findObstacle(object, name);
  if (obstacle !== undefined) {
    throw new InvalidArgumentError(
      `${obstacle}, which has no value that another process could get: send data only, and leave it out`,
    );
  }
  try {
    return packr.pack(object);
  } catch (error) {
    // Too deep for the stack, or more bytes than a buffer can have.
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidArgumentError(`${name} could not be packed: ${reason}`, { cause: error });
  }
}

export function unpackObject(bytes: Uint8Array): unknown {
  return packr.unpack(bytes);
}

/** A value inside of an object, and how it is reached from the one that it lies in. */
interface Visit {
  value: unknown;
  step: string;
  parent: Visit | undefined;
}

/** `object.hooks[2] is a function`; undefined where there is nothing of the kind. Breadth first, so that the shortest path is found. */
function findObstacle(object: unknown, name: string): string | undefined {
  const seen = new Set<unknown>();
  const visits: Visit[] = [{ value: object, step: name, parent: undefined }];
  // Grows while it is walked.
  for (const visit of visits) {
    const obstacle = obstacleIn(visit.value);
    if (obstacle !== undefined) return `${pathOf(visit)} is ${obstacle}`;
    if (seen.has(visit.value)) continue;
    seen.add(visit.value);
    for (const [step, value] of partsIn(visit.value)) {
      if (isCompound(value)) visits.push({ value, step, parent: visit });
    }
  }
  return undefined;
}

/** Everything else is there by its value. */
function isCompound(value: unknown): boolean {
  return (
    (typeof value === 'object' && value !== null) || typeof value === 'function' || typeof value === 'symbol'
  );
}

function pathOf({ step, parent }: Visit): string {
  let path = step;
  for (let visit = parent; visit; visit = visit.parent) path = visit.step + path;
  return path;
}

const classesWithoutValue = [Promise, WeakMap, WeakSet, WeakRef, SharedArrayBuffer];
/** msgpackr writes them in a form that it does not read as what they were. */
const classesThatChange = [AggregateError, Number, String, Boolean, BigInt];
const typedArrayNames: readonly string[] = [
  Buffer,
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
  ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
].map(({ name }) => name);

function obstacleIn(value: unknown): string | undefined {
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'a symbol';
  if (typeof value !== 'object' || value === null) return undefined;
  const refused = [...classesWithoutValue, ...classesThatChange].find((one) => value instanceof one);
  if (refused) return `an instance of ${refused.name}`;
  const name = (value.constructor as { name?: string } | undefined)?.name ?? '';
  if (isTypedArray(value) && !typedArrayNames.includes(name)) return `an array of class ${name}`;
  return value instanceof Map && name !== 'Map' ? `a Map of class ${name}` : undefined;
}

function isTypedArray(value: unknown): boolean {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

/** What of a value is packed, with the step to it. */
function* partsIn(value: unknown): Generator<[step: string, value: unknown]> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  if (value instanceof Map) yield* partsOfMap(value);
  else if (value instanceof Set) for (const member of value) yield ['[a member]', member];
  else if (value instanceof Error) yield ['.cause', value.cause];
  else if (Array.isArray(value))
    for (const [index, element] of value.entries()) yield [`[${index}]`, element];
  else for (const [key, field] of Object.entries(value)) yield [stepTo(key), field];
}

function* partsOfMap(map: ReadonlyMap<unknown, unknown>): Generator<[step: string, value: unknown]> {
  for (const [key, value] of map) {
    yield ['[a key]', key];
    yield [typeof key === 'string' ? `.get('${key}')` : '[a value]', value];
  }
}

function stepTo(key: string): string {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}
