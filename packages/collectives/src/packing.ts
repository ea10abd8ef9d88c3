import { createRequire } from 'node:module';
import type { Packr } from 'msgpackr';

import { BFloat16Bits, Float16Bits } from './bits16.ts';
import { InvalidArgumentError } from './errors.ts';

const require = createRequire(import.meta.url);
let packr: Packr | undefined;

/**
 * Loaded by the first object that travels: few programs send any. `structuredClone` keeps references and cycles, `moreTypes` the classes of typed arrays, Sets
 * and Errors. An instance of any other class is its fields, whatever JSON would make of it.
 */
function thePackr(): Packr {
  if (packr) return packr;
  const msgpackr = require('msgpackr') as typeof import('msgpackr');
  addBitPatterns(msgpackr);
  return (packr = new msgpackr.Packr({ structuredClone: true, moreTypes: true, useToJSON: false }));
}

/** Extensions are all of the process's that use this copy of msgpackr: for our own classes only, with numbers that msgpackr does not use itself. */
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
      // A copy: elements of 16 bits cannot begin at every byte of a message.
      unpack: (bytes: Uint8Array) => new Bits(Uint8Array.from(bytes).buffer),
    });
  }
}

/**
 * An object as bytes (MessagePack). What msgpackr would drop or change in silence is refused: functions, holes of arrays, keys `__proto__`, and text that is not
 * well-formed. Of numbers only −0 changes: it arrives as 0.
 *
 * @param name What the caller calls the object, for messages.
 * @throws InvalidArgumentError that says where in the object something is that has no value to send.
 */
export function packObject(object: unknown, name: string): Uint8Array {
  const obstacle = findObstacle(object, name);
  if (obstacle !== undefined) {
    throw new InvalidArgumentError(`${obstacle}: leave it out, or send what it stands for`);
  }
  try {
    return thePackr().pack(object);
  } catch (error) {
    // Too deep for the stack, or more bytes than a buffer can have.
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidArgumentError(`${name} could not be packed: ${reason}`, { cause: error });
  }
}

export function unpackObject(bytes: Uint8Array): unknown {
  return thePackr().unpack(bytes);
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

/** Everything else is there by its value. */
function isCompound(value: unknown): boolean {
  return (
    (typeof value === 'object' && value !== null) || typeof value === 'function' || typeof value === 'symbol'
  );
}

/** Text in which half of a pair of surrogates stands alone, which UTF-8 has no bytes for. */
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
/** msgpackr writes instances of these so that it reads something else. */
const classesThatChange = [AggregateError, Number, String, Boolean, BigInt];
const classesOfArrays: readonly unknown[] = [
  ...[Buffer, Float16Bits, BFloat16Bits, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array],
  ...[Int32Array, Uint32Array, BigInt64Array, BigUint64Array, Float32Array, Float64Array, DataView],
];

const withoutValue = 'which has no value that another process could get';
const changed = 'which would arrive as something else';

function obstacleIn(value: unknown): string | undefined {
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}, ${withoutValue}`;
  if (isBroken(value)) return `text with half of a surrogate pair, ${changed}`;
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

/** What of a value is packed, with the step to it. */
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
