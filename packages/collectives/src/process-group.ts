import type { DType, TypedArray, TypedArrayOf } from './dtype.ts';
import type { ReduceOp } from './reduce-op.ts';

/** Milliseconds that one operation may take before it fails, as torch.distributed's default for gloo: 30 minutes. */
export const defaultTimeoutMs = 30 * 60 * 1000;

export interface CollectiveOptions {
  /** Milliseconds until this operation fails with a `CollectiveTimeoutError`; the group's `timeoutMs` unless given. */
  timeoutMs?: number;
}

export interface AllReduceOptions extends CollectiveOptions {
  /** `SUM` unless given, as torch.distributed.all_reduce. */
  op?: ReduceOp;
}

export interface BroadcastOptions extends CollectiveOptions {
  /** Rank whose values every rank ends with. Unlike torch, where it must be given, 0 unless given. */
  src?: number;
}

/**
 * Ranks that run collectives together (torch.distributed.ProcessGroup).
 *
 * Every rank calls the same operations in the same order with equal dtypes and lengths; ranks that disagree
 * get a `CollectiveMismatchError` that shows both sides, and no data has changed. Arrays are changed in place, and belong to
 * the operation until its promise settles. Every rank ends with bit-identical bytes.
 *
 * The plain form runs on a native thread that all groups share, in the order of the calls on this group, and never blocks the event loop. The
 * `…Sync` form runs on the calling thread, after what was issued before it: the shortest latency, for code that has nothing else to do.
 *
 * After a `PeerDiedError`, a `CollectiveTimeoutError` or a `CollectiveMismatchError` the ranks no longer agree on what comes next, so
 * the group refuses further operations with that first error.
 */
export interface ProcessGroup {
  /** This process among the group's, from 0. */
  readonly rank: number;
  /** Number of processes. */
  readonly size: number;
  readonly backend: 'gloo';
  /** What carries the data: shared memory inside one host, TCP between hosts, or both. */
  readonly transport: 'shm' | 'tcp' | 'mixed';

  /**
   * Zeroed array in memory that the transport reduces where it lies (shared memory on one host), so that collectives on it, or on
   * a part of it, need no copy. A collective: every rank calls it with the same arguments. Lives until the group is destroyed.
   */
  allocateSync<T extends DType>(dtype: T, length: number): TypedArrayOf[T];

  /**
   * The tensor's elements become their reduction over the ranks. Its class says what the dtype is (see `TypedArrayOf`): float16 and bfloat16
   * are bit patterns in `Float16Bits` and `BFloat16Bits`.
   *
   * @throws InvalidArgumentError for an op that has no meaning for the dtype (see `ReduceOp`), before anything has happened.
   */
  allReduce(tensor: TypedArray, options?: AllReduceOptions): Promise<void>;
  allReduceSync(tensor: TypedArray, options?: AllReduceOptions): void;

  /** The tensor's elements become those of rank `src`. */
  broadcast(tensor: TypedArray, options?: BroadcastOptions): Promise<void>;
  broadcastSync(tensor: TypedArray, options?: BroadcastOptions): void;

  barrier(options?: CollectiveOptions): Promise<void>;
  barrierSync(options?: CollectiveOptions): void;

  /**
   * Waits for what is in flight on every rank, then releases connections and memory. Arrays of `allocateSync` are detached
   * (length 0). Calling it again does nothing; other operations are refused afterwards.
   */
  destroy(): Promise<void>;
}
