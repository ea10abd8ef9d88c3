import { InvalidArgumentError, RingrunError } from '@ringrun/core';
import type {
  BroadcastObjectOptions,
  CollectiveOptions,
  GatherObjectOptions,
  GatherOptions,
  ProcessGroup,
  ScatterObjectOptions,
  ScatterOptions,
  TypedArray,
} from '@ringrun/core';
import { packObject, unpackObject } from './packing.ts';

/**
 * The collectives that object collectives are built on, in their synchronous or asynchronous form. A `ProcessGroup`
 * has the asynchronous ones.
 *
 * Lengths are exchanged first, then bytes. A rank whose object cannot be packed sends -1 as its length, so that no rank
 * waits for it and all ranks stop after the same step, ready for the next operation.
 */
export interface ByteCollectives {
  readonly rank: number;
  readonly size: number;
  broadcast(tensor: TypedArray, options: BroadcastObjectOptions): Promise<void> | void;
  allGather(
    output: TypedArray | readonly TypedArray[],
    input: TypedArray,
    options: CollectiveOptions,
  ): Promise<void> | void;
  gather(input: TypedArray, options: GatherOptions): Promise<void> | void;
  scatter(output: TypedArray, options: ScatterOptions): Promise<void> | void;
}

/** An object collective. Each step is one collective: yields its promise, or undefined if it has already completed. */
export type ObjectCollective<Result> = Generator<Promise<void> | void, Result, void>;

/** Runs an object collective and awaits each step. */
export async function runAsync<Result>(collective: ObjectCollective<Result>): Promise<Result> {
  for (;;) {
    const step = collective.next();
    if (step.done) return step.value;
    await step.value;
  }
}

/** Runs an object collective whose steps are synchronous (`syncByteCollectives`). */
export function runSync<Result>(collective: ObjectCollective<Result>): Result {
  for (;;) {
    const step = collective.next();
    if (step.done) return step.value;
  }
}

/** The `…Sync` forms of a group's collectives. */
export function syncByteCollectives(group: ProcessGroup): ByteCollectives {
  return {
    rank: group.rank,
    size: group.size,
    broadcast: (tensor, options) => {
      group.broadcastSync(tensor, options);
    },
    allGather: (output, input, options) => {
      group.allGatherSync(output, input, options);
    },
    gather: (input, options) => {
      group.gatherSync(input, options);
    },
    scatter: (output, options) => {
      group.scatterSync(output, options);
    },
  };
}

export function* broadcastObject<T>(
  group: ByteCollectives,
  object: T,
  options: BroadcastObjectOptions,
): ObjectCollective<T> {
  const { src = 0 } = options;
  const own = group.rank === src ? pack(object, 'object') : nothing;
  const lengths = Float64Array.of(lengthOf(own));
  yield group.broadcast(lengths, options);
  requirePacked(own, lengths, [src]);
  const bytes = group.rank === src ? own.bytes : new Uint8Array(lengths[0]);
  yield group.broadcast(bytes, options);
  return group.rank === src ? object : (unpackObject(bytes) as T);
}

export function* allGatherObject<T>(
  group: ByteCollectives,
  object: T,
  options: CollectiveOptions,
): ObjectCollective<T[]> {
  const own = pack(object, 'object');
  const lengths = yield* allLengths(group, own, options);
  const output = arraysFor(lengths);
  yield group.allGather(output, own.bytes, options);
  return output.map((bytes) => unpackObject(bytes) as T);
}

export function* gatherObject<T>(
  group: ByteCollectives,
  object: T,
  options: GatherObjectOptions,
): ObjectCollective<T[] | undefined> {
  const { dst = 0 } = options;
  const own = pack(object, 'object');
  // All ranks need all lengths, to know whether the bytes follow.
  const lengths = yield* allLengths(group, own, options);
  if (group.rank !== dst) {
    yield group.gather(own.bytes, options);
    return undefined;
  }
  const output = arraysFor(lengths);
  yield group.gather(own.bytes, { ...options, output });
  return output.map((bytes) => unpackObject(bytes) as T);
}

export function* scatterObject<T>(
  group: ByteCollectives,
  objects: readonly T[] | undefined,
  options: ScatterObjectOptions,
): ObjectCollective<T> {
  const { src = 0 } = options;
  const isSource = group.rank === src;
  const own = isSource ? packEach(objects, group.size) : [];
  const lengths = Float64Array.from({ length: group.size }, (_, rank) => lengthOf(own[rank] ?? nothing));
  yield group.broadcast(lengths, options);
  requirePacked(
    own.find(({ problem }) => problem) ?? nothing,
    lengths,
    Array.from(lengths, () => src),
  );
  const bytes = new Uint8Array(lengths[group.rank]);
  const input = own.map((payload) => payload.bytes);
  yield group.scatter(bytes, isSource ? { ...options, input } : options);
  return unpackObject(bytes) as T;
}

/** A packed object, or the reason why it could not be packed. */
interface Payload {
  bytes: Uint8Array;
  problem?: InvalidArgumentError;
}

const nothing: Payload = { bytes: new Uint8Array() };

/** Sent in place of a length. Lengths are float64, which is exact for all array lengths. */
const notPacked = -1;

function pack(object: unknown, name: string): Payload {
  try {
    return { bytes: packObject(object, name) };
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    return { ...nothing, problem: error };
  }
}

function packEach(objects: unknown, size: number): Payload[] {
  if (Array.isArray(objects) && objects.length === size) {
    return objects.map((object: unknown, rank) => pack(object, `objects[${rank}]`));
  }
  const given = Array.isArray(objects) ? `a list of ${objects.length}` : typeof objects;
  const problem = new InvalidArgumentError(
    `objects is ${given} on rank src, expected a list of ${size}: one object for each rank`,
  );
  return Array.from({ length: size }, () => ({ ...nothing, problem }));
}

function lengthOf({ bytes, problem }: Payload): number {
  return problem ? notPacked : bytes.length;
}

function* allLengths(
  group: ByteCollectives,
  own: Payload,
  { timeoutMs }: CollectiveOptions,
): Generator<Promise<void> | void, Float64Array, void> {
  const lengths = new Float64Array(group.size);
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  yield group.allGather(lengths, Float64Array.of(lengthOf(own)), options);
  requirePacked(own, lengths, [...lengths.keys()]);
  return lengths;
}

/** @param owners `owners[i]` is the rank whose object has `lengths[i]` bytes. */
function requirePacked({ problem }: Payload, lengths: Float64Array, owners: readonly number[]): void {
  if (problem) throw problem;
  const failed = new Set(owners.filter((_, i) => lengths[i] === notPacked));
  if (failed.size === 0) return;
  const who = `${failed.size === 1 ? 'rank' : 'ranks'} ${[...failed].join(', ')}`;
  throw new RingrunError(
    'ERR_OBJECT_NOT_PACKED',
    `${who} of this group could not pack its object: see the error on that rank. No object was sent, and the group remains usable`,
  );
}

function arraysFor(lengths: Float64Array): Uint8Array[] {
  return Array.from(lengths, (length) => new Uint8Array(length));
}
