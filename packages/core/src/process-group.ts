import type { CollectiveBuffer } from './device-tensor.ts';
import type { DType, TypedArrayOf } from './dtype.ts';
import type {
  AllReduceOptions,
  AllToAllOptions,
  BroadcastObjectOptions,
  BroadcastOptions,
  CollectiveOptions,
  GatherObjectOptions,
  GatherOptions,
  RecvOptions,
  ReduceOptions,
  ReduceScatterOptions,
  ScatterObjectOptions,
  ScatterOptions,
  SendOptions,
  BufferByRank,
} from './options.ts';
import type { Work } from './work.ts';

/**
 * Ranks that run collectives together (torch.distributed.ProcessGroup).
 *
 * Every rank calls the same collectives in the same order, with the same dtypes and options and matching lengths. Ranks
 * that disagree throw a `CollectiveMismatchError` that shows both sides, and no data is changed. Do not use an array
 * until the promise of its operation settles. A tensor's class determines its dtype (see `TypedArrayOf`; float16 and
 * bfloat16 are bit patterns in `Float16Bits` and `BFloat16Bits`); all tensors of one operation have the same dtype.
 * Outputs must not overlap each other or an input, unless documented otherwise. The result of a reduction has the same
 * bytes on every rank.
 *
 * Groups with backend nccl accept a `DeviceTensor` in place of any typed array. The arrays of one operation are either
 * all on the GPU or all in host memory.
 *
 * `src`, `dst` and the order of parts refer to ranks of this group. Every operation throws an `InvalidArgumentError`
 * for invalid arguments before it changes anything.
 *
 * The asynchronous form runs on a native thread that all groups share, in the order of the calls on this group, and
 * never blocks the event loop; errors reject its promise. The `…Sync` form runs on the calling thread, after the
 * operations issued before it. It has the lowest latency.
 *
 * After a `PeerDiedError`, a `CollectiveTimeoutError` or a `CollectiveMismatchError` the ranks no longer agree on the
 * next operation, so the group rejects all further operations with that first error.
 */
export interface ProcessGroup {
  /** Rank of this process in the group, from 0. */
  readonly rank: number;
  /** Number of processes in the group. */
  readonly size: number;
  /** `gloo`: CPU; `nccl`: GPU. */
  readonly backend: 'gloo' | 'nccl';
  /** How data is transferred: shared memory within a host, TCP between hosts, both, or NCCL. */
  readonly transport: 'shm' | 'tcp' | 'mixed' | 'nccl';

  /**
   * Returns a zeroed array in memory that the transport reduces in place (shared memory on one host), so collectives on
   * it or a part of it need no copy. A collective: every rank calls it with the same arguments. Valid until the group
   * is destroyed.
   */
  allocateSync<T extends DType>(dtype: T, length: number): TypedArrayOf[T];

  /**
   * Reduces the tensor over all ranks, in place (torch.distributed.all_reduce).
   *
   * @throws InvalidArgumentError for an op that the dtype does not support (see `ReduceOp`).
   */
  allReduce(tensor: CollectiveBuffer, options?: AllReduceOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.allReduce}. */
  allReduceSync(tensor: CollectiveBuffer, options?: AllReduceOptions): void;

  /**
   * Reduces each of several tensors over all ranks, in place, as one operation (torch.distributed.all_reduce_coalesced;
   * with NCCL, the same as torch's coalescing manager). For many short tensors, such as gradients that are not
   * contiguous.
   *
   * @param tensors of the same dtype and any lengths; their number and lengths are the same on every rank. An empty
   * list is an operation without effect that every rank still has to call. Sums may differ in the last bits from one
   * call per tensor, because elements may be added in a different order.
   * @throws InvalidArgumentError for tensors of several dtypes; CollectiveMismatchError that names the array and rank
   * that differ.
   */
  allReduceCoalesced(tensors: readonly CollectiveBuffer[], options?: AllReduceOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.allReduceCoalesced}. */
  allReduceCoalescedSync(tensors: readonly CollectiveBuffer[], options?: AllReduceOptions): void;

  /**
   * Reduces the tensor over all ranks into the tensor of rank `dst` (torch.distributed.reduce). Default of `dst`: 0.
   * The tensors of the other ranks are not changed (in torch their contents are undefined afterwards).
   */
  reduce(tensor: CollectiveBuffer, options?: ReduceOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.reduce}. */
  reduceSync(tensor: CollectiveBuffer, options?: ReduceOptions): void;

  /**
   * Reduces `input` over all ranks and scatters the parts (torch.distributed.reduce_scatter_tensor, reduce_scatter).
   *
   * @param output receives the reduction of all ranks' parts for this rank; [length].
   * @param input one array, [size × length]; or a list with one array for each rank. Lengths may differ between ranks,
   * but `input[i]` has the same length on every rank.
   */
  reduceScatter(output: CollectiveBuffer, input: BufferByRank, options?: ReduceScatterOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.reduceScatter}. */
  reduceScatterSync(output: CollectiveBuffer, input: BufferByRank, options?: ReduceScatterOptions): void;

  /** Copies the tensor of rank `src` to every rank (torch.distributed.broadcast). Default of `src`: 0. */
  broadcast(tensor: CollectiveBuffer, options?: BroadcastOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.broadcast}. */
  broadcastSync(tensor: CollectiveBuffer, options?: BroadcastOptions): void;

  /**
   * Gathers the inputs of all ranks on every rank (torch.distributed.all_gather_into_tensor, all_gather).
   *
   * @param output one array, [size × input.length], if all inputs have the same length; or a list with one array for
   * each rank, as long as that rank's input.
   * @param input [length]; may be this rank's part of `output`, which is then not changed.
   */
  allGather(output: BufferByRank, input: CollectiveBuffer, options?: CollectiveOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.allGather}. */
  allGatherSync(output: BufferByRank, input: CollectiveBuffer, options?: CollectiveOptions): void;

  /**
   * Gathers the inputs of all ranks on rank `dst` (torch.distributed.gather). Default of `dst`: 0.
   *
   * @param input [length]; on `dst` it may be this rank's part of `output`.
   * @param options `output`, on `dst` only: one array, [size × length]; or a list with one array for each rank, as long
   * as that rank's input.
   */
  gather(input: CollectiveBuffer, options?: GatherOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.gather}. */
  gatherSync(input: CollectiveBuffer, options?: GatherOptions): void;

  /**
   * Scatters the parts of `input` on rank `src` to all ranks (torch.distributed.scatter). Default of `src`: 0.
   *
   * @param output receives this rank's part; [length]; on `src` it may be this rank's part of `input`.
   * @param options `input`, on `src` only: one array, [size × length]; or a list with one array for each rank, as long
   * as that rank's output.
   */
  scatter(output: CollectiveBuffer, options?: ScatterOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.scatter}. */
  scatterSync(output: CollectiveBuffer, options?: ScatterOptions): void;

  /**
   * Sends a part from every rank to every rank (torch.distributed.all_to_all_single, all_to_all): part b of rank a's
   * input becomes part a of rank b's output.
   *
   * @param output one array, divided by `outputSplitSizes` (elements from each rank; default: equal parts); or a list.
   * @param input one array, divided by `inputSplitSizes` (elements for each rank; default: equal parts); or a list.
   * Both arguments are arrays, or both are lists.
   */
  allToAll(output: BufferByRank, input: BufferByRank, options?: AllToAllOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.allToAll}. */
  allToAllSync(output: BufferByRank, input: BufferByRank, options?: AllToAllOptions): void;

  /**
   * Sends a message to rank `dst` (torch.distributed.send), independent of the order of collectives. Messages to one
   * rank with the same tag are received in the order of the calls. Resolves when the tensor may be reused: immediately
   * for a short message, otherwise when the receiver accepts it. The `…Sync` forms wait for their own message only.
   *
   * @throws InvalidArgumentError if `dst` is this rank, as in torch.
   */
  send(tensor: CollectiveBuffer, dst: number, options?: SendOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.send}. */
  sendSync(tensor: CollectiveBuffer, dst: number, options?: SendOptions): void;
  /** Starts a `send` (torch.distributed.isend). Throws synchronously for invalid arguments. */
  isend(tensor: CollectiveBuffer, dst: number, options?: SendOptions): Work;

  /**
   * Receives a message with this tag from rank `src` (torch.distributed.recv). Default of `src`: any rank. Resolves
   * with the sender's rank.
   *
   * @param tensor has the length and dtype of the message; otherwise a `CollectiveMismatchError` shows both sides.
   */
  recv(tensor: CollectiveBuffer, options?: RecvOptions): Promise<number>;
  /** Blocking form of {@link ProcessGroup.recv}. */
  recvSync(tensor: CollectiveBuffer, options?: RecvOptions): number;
  /** Starts a `recv` (torch.distributed.irecv). Throws synchronously for invalid arguments. */
  irecv(tensor: CollectiveBuffer, options?: RecvOptions): Work<number>;

  /** Resolves when every rank has called it (torch.distributed.barrier). */
  barrier(options?: CollectiveOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.barrier}. */
  barrierSync(options?: CollectiveOptions): void;

  /**
   * A `barrier` with its own name in reports (torch.distributed.monitored_barrier). As with every operation, its
   * `CollectiveTimeoutError` names all missing ranks (torch: `wait_all_ranks`). Unlike in torch, it is thrown on every
   * rank.
   */
  monitoredBarrier(options?: CollectiveOptions): Promise<void>;
  /** Blocking form of {@link ProcessGroup.monitoredBarrier}. */
  monitoredBarrierSync(options?: CollectiveOptions): void;

  /**
   * Sends the object of rank `src` to every rank (torch.distributed.broadcast_object_list). Default of `src`: 0.
   * Returns the object itself on `src` and a copy elsewhere. `object` is ignored on the other ranks.
   *
   * Object collectives send by value, as `structuredClone` does: numbers, strings, BigInts, undefined, arrays, plain
   * objects, Map, Set, Date, RegExp, typed arrays and buffers, with references and cycles. An Error keeps its name,
   * message and cause. A Buffer is received as a Uint8Array, an instance of another class as a plain object with its
   * fields, −0 as 0. `timeoutMs` applies to each of two steps.
   *
   * @throws InvalidArgumentError with the path of a value that cannot be sent, such as a function or a symbol. The
   * other ranks throw a RingrunError `ERR_OBJECT_NOT_PACKED` that names the rank. The group remains usable.
   */
  broadcastObject<T>(object: T, options?: BroadcastObjectOptions): Promise<T>;
  /** Blocking form of {@link ProcessGroup.broadcastObject}. */
  broadcastObjectSync<T>(object: T, options?: BroadcastObjectOptions): T;

  /**
   * Gathers copies of all ranks' objects, by rank, on every rank (torch.distributed.all_gather_object). Errors: see
   * `broadcastObject`.
   */
  allGatherObject<T>(object: T, options?: CollectiveOptions): Promise<T[]>;
  /** Blocking form of {@link ProcessGroup.allGatherObject}. */
  allGatherObjectSync<T>(object: T, options?: CollectiveOptions): T[];

  /**
   * Gathers copies of all ranks' objects, by rank, on rank `dst` (torch.distributed.gather_object). Default of `dst`:
   * 0. Resolves with undefined on the other ranks. Errors: see `broadcastObject`.
   */
  gatherObject<T>(object: T, options?: GatherObjectOptions): Promise<T[] | undefined>;
  /** Blocking form of {@link ProcessGroup.gatherObject}. */
  gatherObjectSync<T>(object: T, options?: GatherObjectOptions): T[] | undefined;

  /**
   * Sends one of rank `src`'s objects to each rank (torch.distributed.scatter_object_list). Default of `src`: 0.
   * Returns a copy. Errors: see `broadcastObject`.
   *
   * @param objects on `src`, a list with one object for each rank; ignored on the other ranks.
   */
  scatterObject<T>(objects: readonly T[] | undefined, options?: ScatterObjectOptions): Promise<T>;
  /** Blocking form of {@link ProcessGroup.scatterObject}. */
  scatterObjectSync<T>(objects: readonly T[] | undefined, options?: ScatterObjectOptions): T;

  /**
   * Blocks the calling thread until all collectives issued on this group have completed on this rank. Not a collective.
   * Their promises settle later, when the event loop runs.
   *
   * @throws RingrunError if one of them has failed (with the group's first error); `ERR_OBJECT_UNDER_WAY` if one of
   * them is an object collective.
   */
  settleSync(): void;

  /**
   * Waits for pending operations on every rank, then releases connections and memory. Arrays of `allocateSync` are
   * detached (length 0). Calling it again does nothing; all other operations throw afterwards.
   */
  destroy(): Promise<void>;
}
