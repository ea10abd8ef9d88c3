import type { Collectives } from './collectives.ts';
import type { CollectiveBuffer } from './device-tensor.ts';
import type { DType, TypedArrayOf } from './dtype.ts';
import type { RecvOptions, SendOptions } from './options.ts';
import type { Work } from './work.ts';

/**
 * Ranks that run collectives together (torch.distributed.ProcessGroup).
 *
 * Every rank calls the same collectives in the same order, with the same dtypes and options and matching lengths. Ranks
 * that disagree throw a `CollectiveMismatchError` that shows both sides, and no data is changed. Do not use an array
 * until the promise of its operation settles; if its memory is transferred meanwhile, the operation continues in the
 * memory of the new owner. Node 22 and 23 free the memory of a typed array that is transferred with another length
 * (`ArrayBuffer.prototype.transfer(newLength)`) while an operation uses it, and the process may crash; Node 24 copies
 * it. Asynchronous operations do not accept resizable ArrayBuffers. A tensor's class determines its dtype (see
 * `TypedArrayOf`; float16 and bfloat16 are bit patterns in `Float16Bits` and `BFloat16Bits`); all tensors of one
 * operation have the same dtype.
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
export interface ProcessGroup extends Collectives {
  /** Rank of this process in the group, from 0. */
  readonly rank: number;
  /** Number of processes in the group. */
  readonly size: number;
  /** `gloo`: CPU; `nccl`: GPU. */
  readonly backend: 'gloo' | 'nccl';
  /** With backend nccl: index of this rank's GPU among those that CUDA_VISIBLE_DEVICES allows. Otherwise undefined. */
  readonly device?: number | undefined;
  /**
   * With backend nccl: the reason why a rank of this group cannot compute on its GPU, as the end of a sentence. Undefined if all can, so
   * that models compute there, and with other backends.
   */
  readonly gpuProblem?: string | undefined;
  /** How data is transferred: shared memory within a host, TCP between hosts, both, or NCCL. */
  readonly transport: 'shm' | 'tcp' | 'mixed' | 'nccl';

  /**
   * Returns a zeroed array in memory that the transport reduces in place (shared memory on one host), so collectives on
   * it or a part of it need no copy. A collective: every rank calls it with the same arguments. Valid until the group
   * is destroyed; the memory of an array that all ranks have dropped is freed by a later call.
   */
  allocateSync<T extends DType>(dtype: T, length: number): TypedArrayOf[T];

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
