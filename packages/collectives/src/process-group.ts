import type { Tensor } from './device-tensor.ts';
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
  TensorByRank,
} from './options.ts';
import type { Work } from './work.ts';

/**
 * Ranks that run collectives together (torch.distributed.ProcessGroup).
 *
 * Every rank calls the same collectives in the same order with equal dtypes and options, and with lengths that fit together; ranks that
 * disagree get a `CollectiveMismatchError` that shows both sides, and no data has changed. Arrays belong to the operation until its
 * promise settles. A tensor's class says what its dtype is (see `TypedArrayOf`; float16 and bfloat16 are bit patterns in
 * `Float16Bits` and `BFloat16Bits`); where there are several, all have one dtype. Outputs must not overlap
 * one another, nor an input, unless said otherwise. What a reduction gives has the same bytes on every rank that gets it.
 *
 * Groups of the backend nccl take a `DeviceTensor` wherever a typed array may be given; the arrays of one operation all lie on the GPU, or all on this host.
 *
 * `src`, `dst` and the order of parts count ranks of this group. Every operation throws an `InvalidArgumentError`, before anything has happened,
 * for arguments that cannot work on this rank.
 *
 * The plain form runs on a native thread that all groups share, in the order of the calls on this group, and never blocks the event loop; what it
 * throws rejects its promise. The `…Sync` form runs on the calling thread, after what was issued before it: the shortest latency, for code that has nothing else to do.
 *
 * After a `PeerDiedError`, a `CollectiveTimeoutError` or a `CollectiveMismatchError` the ranks no longer agree on what comes next, so
 * the group refuses further operations with that first error.
 */
export interface ProcessGroup {
  /** This process among the group's, from 0. */
  readonly rank: number;
  /** Number of processes. */
  readonly size: number;
  /** `gloo`: over processors; `nccl`: over GPUs. */
  readonly backend: 'gloo' | 'nccl';
  /** What carries the data: shared memory inside one host, TCP between hosts, both, or NCCL, whatever it uses. */
  readonly transport: 'shm' | 'tcp' | 'mixed' | 'nccl';

  /**
   * Zeroed array in memory that the transport reduces where it lies (shared memory on one host), so that collectives on it, or on
   * a part of it, need no copy. A collective: every rank calls it with the same arguments. Lives until the group is destroyed.
   */
  allocateSync<T extends DType>(dtype: T, length: number): TypedArrayOf[T];

  /**
   * The tensor's elements become their reduction over the ranks (torch.distributed.all_reduce).
   *
   * @throws InvalidArgumentError for an op that has no meaning for the dtype (see `ReduceOp`).
   */
  allReduce(tensor: Tensor, options?: AllReduceOptions): Promise<void>;
  allReduceSync(tensor: Tensor, options?: AllReduceOptions): void;

  /**
   * The elements of each tensor become their reduction over the ranks (torch.distributed.all_reduce_coalesced; with NCCL, what calls inside of torch's coalescing
   * manager become): one operation, with one agreement and one result, instead of one for each tensor. For many short tensors, such as gradients that do not lie side by side.
   *
   * @param tensors of one dtype, of any lengths; as many on every rank, and each as long everywhere. None are an operation without effect, which all ranks take part in.
   * Sums may differ in their last bits from those of a call for each tensor, since what is reduced together may be added in another order.
   * @throws InvalidArgumentError for tensors of several dtypes; CollectiveMismatchError that says which array of which rank differs.
   */
  allReduceCoalesced(tensors: readonly Tensor[], options?: AllReduceOptions): Promise<void>;
  allReduceCoalescedSync(tensors: readonly Tensor[], options?: AllReduceOptions): void;

  /**
   * On rank `dst` (0 unless given), the tensor's elements become their reduction over the ranks (torch.distributed.reduce). The others' tensors
   * stay as they are; torch leaves undefined what they hold afterwards.
   */
  reduce(tensor: Tensor, options?: ReduceOptions): Promise<void>;
  reduceSync(tensor: Tensor, options?: ReduceOptions): void;

  /**
   * The reduction of everybody's part for this rank (torch.distributed.reduce_scatter_tensor, reduce_scatter).
   *
   * @param output becomes the reduction over the ranks of their `input` parts for this rank; [length].
   * @param input one array, [size × length]; or a list with an array for each rank, of lengths that may differ between ranks but are the
   * same for one rank everywhere.
   */
  reduceScatter(output: Tensor, input: TensorByRank, options?: ReduceScatterOptions): Promise<void>;
  reduceScatterSync(output: Tensor, input: TensorByRank, options?: ReduceScatterOptions): void;

  /** The tensor's elements become those of rank `src`, 0 unless given (torch.distributed.broadcast). */
  broadcast(tensor: Tensor, options?: BroadcastOptions): Promise<void>;
  broadcastSync(tensor: Tensor, options?: BroadcastOptions): void;

  /**
   * Everybody's input on every rank (torch.distributed.all_gather_into_tensor, all_gather).
   *
   * @param output one array, [size × input.length], where all inputs are equally long; or a list with an array for each rank, as long as its input.
   * @param input [length]; may be the own part of `output`, which is then left as it is.
   */
  allGather(output: TensorByRank, input: Tensor, options?: CollectiveOptions): Promise<void>;
  allGatherSync(output: TensorByRank, input: Tensor, options?: CollectiveOptions): void;

  /**
   * Everybody's input on rank `dst`, 0 unless given (torch.distributed.gather).
   *
   * @param input [length]; on `dst` it may be the own part of `output`.
   * @param options `output`, on `dst` only: one array, [size × length]; or a list with an array for each rank, as long as its input.
   */
  gather(input: Tensor, options?: GatherOptions): Promise<void>;
  gatherSync(input: Tensor, options?: GatherOptions): void;

  /**
   * A part for each rank from rank `src`, 0 unless given (torch.distributed.scatter).
   *
   * @param output becomes this rank's part; [length]; on `src` it may be the own part of `input`.
   * @param options `input`, on `src` only: one array, [size × length]; or a list with an array for each rank, as long as its output.
   */
  scatter(output: Tensor, options?: ScatterOptions): Promise<void>;
  scatterSync(output: Tensor, options?: ScatterOptions): void;

  /**
   * A part from every rank for every rank (torch.distributed.all_to_all_single, all_to_all): rank a's input part for rank b becomes rank
   * b's output part from rank a.
   *
   * @param output one array, in equal parts unless `outputSplitSizes` says how many elements come from each rank; or a list.
   * @param input one array, in equal parts unless `inputSplitSizes` says how many elements go to each rank; or a list. Both are lists, or none.
   */
  allToAll(output: TensorByRank, input: TensorByRank, options?: AllToAllOptions): Promise<void>;
  allToAllSync(output: TensorByRank, input: TensorByRank, options?: AllToAllOptions): void;

  /**
   * A message to rank `dst` (torch.distributed.send), outside of the order of the collectives. Messages to one rank with one tag are received in the order of the calls.
   * Resolves when the tensor may be used again: a long message's when its receiver takes it, a short one's at once. The `…Sync` forms of messages wait
   * for their own message only.
   *
   * @throws InvalidArgumentError for this rank itself as `dst`, as torch.
   */
  send(tensor: Tensor, dst: number, options?: SendOptions): Promise<void>;
  sendSync(tensor: Tensor, dst: number, options?: SendOptions): void;
  /** Starts a `send` (torch.distributed.isend). Throws at once for arguments that cannot work. */
  isend(tensor: Tensor, dst: number, options?: SendOptions): Work;

  /**
   * A message with this tag from rank `src`, or from whoever sends first (torch.distributed.recv). Resolves with the sender's rank.
   *
   * @param tensor as long as the message, and of its dtype; otherwise a `CollectiveMismatchError` shows both sides.
   */
  recv(tensor: Tensor, options?: RecvOptions): Promise<number>;
  recvSync(tensor: Tensor, options?: RecvOptions): number;
  /** Starts a `recv` (torch.distributed.irecv). Throws at once for arguments that cannot work. */
  irecv(tensor: Tensor, options?: RecvOptions): Work<number>;

  /** Resolves when every rank has called it (torch.distributed.barrier). */
  barrier(options?: CollectiveOptions): Promise<void>;
  barrierSync(options?: CollectiveOptions): void;

  /**
   * The same, under a name of its own in reports (torch.distributed.monitored_barrier). At the timeout the `CollectiveTimeoutError` names all ranks that are missing,
   * as that of every operation does, so that there is no `waitAllRanks` as in torch; unlike torch's, every rank gets it, not rank 0 alone.
   */
  monitoredBarrier(options?: CollectiveOptions): Promise<void>;
  monitoredBarrierSync(options?: CollectiveOptions): void;

  /**
   * The object of rank `src` (0 unless given) on every rank (torch.distributed.broadcast_object_list): on `src` that object itself, elsewhere
   * a copy. What the other ranks give is not looked at.
   *
   * Objects of this function and the next ones travel by value, as by `structuredClone`: numbers, strings, BigInts, undefined, arrays, plain
   * objects, Map, Set, Date, RegExp, typed arrays and buffers, with references among them and cycles. An Error keeps its name, message and cause; a Buffer arrives as a
   * Uint8Array, an instance of another class as a plain object of its fields, −0 as 0. `timeoutMs` counts for each of two steps.
   *
   * @throws InvalidArgumentError for an object with a function, a symbol or another thing in it that has no value, saying where in it. The
   * others, who would wait for it, get a RingrunError `ERR_OBJECT_NOT_PACKED` that names the rank. The group can be used further.
   */
  broadcastObject<T>(object: T, options?: BroadcastObjectOptions): Promise<T>;
  broadcastObjectSync<T>(object: T, options?: BroadcastObjectOptions): T;

  /** Copies of everybody's objects, by rank, on every rank (torch.distributed.all_gather_object). Errors as of `broadcastObject`. */
  allGatherObject<T>(object: T, options?: CollectiveOptions): Promise<T[]>;
  allGatherObjectSync<T>(object: T, options?: CollectiveOptions): T[];

  /** Copies of everybody's objects, by rank, on rank `dst` (0 unless given); elsewhere undefined (torch.distributed.gather_object). Errors as of `broadcastObject`. */
  gatherObject<T>(object: T, options?: GatherObjectOptions): Promise<T[] | undefined>;
  gatherObjectSync<T>(object: T, options?: GatherObjectOptions): T[] | undefined;

  /**
   * A copy of one of rank `src`'s objects for each rank, 0 unless given (torch.distributed.scatter_object_list). Errors as of `broadcastObject`.
   *
   * @param objects on `src` a list with an object for each rank; what the other ranks give is not looked at.
   */
  scatterObject<T>(objects: readonly T[] | undefined, options?: ScatterObjectOptions): Promise<T>;
  scatterObjectSync<T>(objects: readonly T[] | undefined, options?: ScatterObjectOptions): T;

  /**
   * Blocks the calling thread until every collective that was called on this group before has ended on this rank. No collective. Promises settle later, when the
   * event loop runs.
   *
   * @throws RingrunError where one of them has failed: the error that the group refuses further operations with; `ERR_OBJECT_UNDER_WAY` where one of them takes an object.
   */
  settleSync(): void;

  /**
   * Waits for what is in flight on every rank, then releases connections and memory. Arrays of `allocateSync` are detached
   * (length 0). Calling it again does nothing; other operations are refused afterwards.
   */
  destroy(): Promise<void>;
}
