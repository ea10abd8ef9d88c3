import { createRequire } from 'node:module';
import type { Packr } from 'msgpackr';

import { BFloat16Bits, Float16Bits, InvalidArgumentError } from '@ringrun/core';

const require = createRequire(import.meta.url);
let packr: Packr | undefined;

/**
 * Loads msgpackr on first use, because few programs send objects. `structuredClone` keeps references and cycles,
 * `moreTypes` the classes of typed arrays, Sets and Errors. Other instances are packed as their fields; their toJSON is
 * not called.
 */
function thePackr(): Packr {
  if (packr) return packr;
  const msgpackr = require('msgpackr') as typeof import('msgpackr');
  addBitPatterns(msgpackr);
  return (packr = new msgpackr.Packr({ structuredClone: true, moreTypes: true, useToJSON: false }));
}

/**
 * Extensions apply to all users of this copy of msgpackr in the process, so they cover ringrun's own classes only, with
 * type numbers that msgpackr does not use.
 */
function addBitPatterns({ addExtension }: typeof import('msgpackr')): void {
  for (const [type, Bits] of [
    [33, Float16Bits],
    [34, BFloat16Bits],
  ] as const) {
    addExtension({
      type,
      Class: Bits,
      pack: ({ buffer, byteOffset, byteLength }: InstanceType<typeof Bits>) =>
        new Uint8Array(buffer, byteOffset, byteLength),
      // Copied, because 16-bit elements need an even offset and the message may have an odd one.
      unpack: (bytes: Uint8Array) => new Bits(Uint8Array.from(bytes).buffer),
    });
  }
}

/**
 * Packs an object as bytes (MessagePack). Refuses values that msgpackr would silently drop or change: functions, array
 * holes, keys `__proto__` and strings that are not well-formed. −0 becomes 0.
 *
 * @param name Name of the object in error messages.
 * @throws InvalidArgumentError with the path of the value that cannot be sent.
 */
export function packObject(object: unknown, name: string): Uint8Array {
  const obstacle = findObstacle(object, name);
  if (obstacle !== undefined) {
    throw new InvalidArgumentError(`${obstacle}. Leave it out, or send a plain value instead`);
  }
  try {
    return thePackr().pack(object);
  } catch (error) {
    // The object is nested too deeply for the stack, or needs more bytes than a buffer can hold.
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidArgumentError(`${name} could not be packed: ${reason}`, { cause: error });
  }
}

export function unpackObject(bytes: Uint8Array): unknown {
  return thePackr().unpack(bytes);
}

/** A value inside an object, and the path step from its parent. */
interface Visit {
  value: unknown;
  step: string;
  parent: Visit | undefined;
}

/**
 * Returns `object.hooks[2] is a function`, or undefined if all values can be packed. Breadth first, to find the
 * shortest path.
 */
function findObstacle(object: unknown, name: string): string | undefined {
  const seen = new Set<unknown>();
  const visits: Visit[] = [{ value: object, step: name, parent: undefined }];
  // The loop appends to `visits`.
  for (const visit of visits) {
    const obstacle = obstacleIn(visit.value);
    if (obstacle !== undefined) return `${pathOf(visit)} is ${obstacle}`;
    if (seen.has(visit.value)) continue;
    seen.add(visit.value);
    const { value: parent } = visit;
    if (Array.isArray(parent)) {
      const hole = holeOf(parent);
      if (hole !== undefined) return `${pathOf(visit)}[${hole}] is a hole, ${changed}`;
    }
    for (const [step, value] of partsIn(parent)) {
      if (isCompound(value) || isBroken(value)) visits.push({ value, step, parent: visit });
    }
  }
  return undefined;
}

/** Other values are primitives. */
function isCompound(value: unknown): boolean {
  return (
    (typeof value === 'object' && value !== null) || typeof value === 'function' || typeof value === 'symbol'
  );
}

/** A string with a lone surrogate, which UTF-8 cannot encode. */
function isBroken(value: unknown): boolean {
  return typeof value === 'string' && /\p{Surrogate}/u.test(value);
}

/** The first index without an element. */
function holeOf(array: readonly unknown[]): number | undefined {
  for (let index = 0; index < array.length; index += 1) if (!(index in array)) return index;
  return undefined;
}

function pathOf({ step, parent }: Visit): string {
  let path = step;
  for (let visit = parent; visit; visit = visit.parent) path = visit.step + path;
  return path;
}

const classesWithoutValue = [Promise, WeakMap, WeakSet, WeakRef, SharedArrayBuffer];
/** msgpackr unpacks instances of these as a different class. */
const classesThatChange = [AggregateError, Number, String, Boolean, BigInt];
const classesOfArrays: readonly unknown[] = [
  ...[Buffer, Float16Bits, BFloat16Bits, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array],
  ...[Int32Array, Uint32Array, BigInt64Array, BigUint64Array, Float32Array, Float64Array, DataView],
];

const withoutValue = 'which cannot be sent to another process';
const changed = 'which would be received as a different value';

function obstacleIn(value: unknown): string | undefined {
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}, ${withoutValue}`;
  if (isBroken(value)) return `a string with a lone surrogate, ${changed}`;
  if (typeof value !== 'object' || value === null) return undefined;
  if (Object.hasOwn(value, '__proto__')) return `an object with a key '__proto__', ${changed}`;
  const absent = classesWithoutValue.find((one) => value instanceof one);
  if (absent) return `an instance of ${absent.name}, ${withoutValue}`;
  return changes(value) ? `of class ${value.constructor.name}, ${changed}` : undefined;
}

function changes(value: object): boolean {
  if (ArrayBuffer.isView(value)) return !classesOfArrays.includes(value.constructor);
  if (value instanceof Map) return value.constructor !== Map;
  return classesThatChange.some((one) => value instanceof one);
}

/** The parts of a value that are packed, each with its path step. */
function* partsIn(value: unknown): Generator<[step: string, value: unknown]> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  if (value instanceof Map) yield* partsOfMap(value);
  else if (value instanceof Set) for (const member of value) yield ['[a member]', member];
  else if (value instanceof Error) yield* partsOfError(value);
  else if (Array.isArray(value))
    for (const [index, element] of value.entries()) yield [`[${index}]`, element];
  else yield* partsOfFields(value);
}

function* partsOfFields(value: object): Generator<[step: string, value: unknown]> {
  for (const [key, field] of Object.entries(value)) {
    if (isBroken(key)) yield ['[a key]', key];
    yield [stepTo(key), field];
  }
}

function* partsOfError({ name, message, cause }: Error): Generator<[step: string, value: unknown]> {
  yield ['.name', name];
  yield ['.message', message];
  yield ['.cause', cause];
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
