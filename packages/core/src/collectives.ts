import type { CollectiveBuffer } from './device-tensor.ts';
import type { OptionNames } from './known-options.ts';
import type {
  AllReduceOptions,
  AllToAllOptions,
  BroadcastObjectOptions,
  BroadcastOptions,
  BufferByRank,
  GatherObjectOptions,
  GatherOptions,
  ReduceOptions,
  ReduceScatterOptions,
  ScatterObjectOptions,
  ScatterOptions,
} from './options.ts';
import type { CollectiveOptions } from './timeout-option.ts';

/**
 * The collectives of a {@link ProcessGroup}, each in an asynchronous and a blocking form. The methods of groups, the
 * functions of the default group and the profiler's list follow from this interface and from `collectives` below.
 *
 * @typeParam Extra Options that every collective takes in addition; for the functions of the default group, the group.
 */
export interface Collectives<Extra = unknown> {
  /**
   * Reduces the tensor over all ranks, in place (torch.distributed.all_reduce).
   *
   * @throws InvalidArgumentError for an op that the dtype does not support (see `ReduceOp`).
   */
  allReduce(tensor: CollectiveBuffer, options?: AllReduceOptions & Extra): Promise<void>;
  /** Blocking form of {@link Collectives.allReduce}. */
  allReduceSync(tensor: CollectiveBuffer, options?: AllReduceOptions & Extra): void;

  /**
   * Reduces each of several tensors over all ranks, in place, as one operation (torch.distributed.all_reduce_coalesced;
   * with NCCL, the same as torch's coalescing manager). For many short tensors, such as gradients that are not
   * contiguous.
   *
   * @param tensors of the same dtype and any lengths; their number and lengths are the same on every rank. An empty
   * list is an operation without effect that every rank must still call. Sums may differ in the last bits from one call
   * per tensor, because elements may be added in a different order.
   * @throws InvalidArgumentError for tensors of several dtypes; CollectiveMismatchError that names the array and rank
   * that differ.
   */
  allReduceCoalesced(tensors: readonly CollectiveBuffer[], options?: AllReduceOptions & Extra): Promise<void>;
  /** Blocking form of {@link Collectives.allReduceCoalesced}. */
  allReduceCoalescedSync(tensors: readonly CollectiveBuffer[], options?: AllReduceOptions & Extra): void;

  /**
   * Reduces the tensor over all ranks into the tensor of rank `dst` (torch.distributed.reduce). Default of `dst`: 0.
   * The tensors of the other ranks are not changed (in torch their contents are undefined afterwards).
   */
  reduce(tensor: CollectiveBuffer, options?: ReduceOptions & Extra): Promise<void>;
  /** Blocking form of {@link Collectives.reduce}. */
  reduceSync(tensor: CollectiveBuffer, options?: ReduceOptions & Extra): void;

  /**
   * Reduces `input` over all ranks and scatters the parts (torch.distributed.reduce_scatter_tensor, reduce_scatter).
   *
   * @param output receives the reduction of all ranks' parts for this rank; [length].
   * @param input one array, [size × length]; or a list with one array for each rank. Lengths may differ between ranks,
   * but `input[i]` has the same length on every rank.
   */
  reduceScatter(
    output: CollectiveBuffer,
    input: BufferByRank,
    options?: ReduceScatterOptions & Extra,
  ): Promise<void>;
  /** Blocking form of {@link Collectives.reduceScatter}. */
  reduceScatterSync(
    output: CollectiveBuffer,
    input: BufferByRank,
    options?: ReduceScatterOptions & Extra,
  ): void;

  /** Copies the tensor of rank `src` to every rank (torch.distributed.broadcast). Default of `src`: 0. */
  broadcast(tensor: CollectiveBuffer, options?: BroadcastOptions & Extra): Promise<void>;
  /** Blocking form of {@link Collectives.broadcast}. */
  broadcastSync(tensor: CollectiveBuffer, options?: BroadcastOptions & Extra): void;

  /**
   * Gathers the inputs of all ranks on every rank (torch.distributed.all_gather_into_tensor, all_gather).
   *
   * @param output one array, [size × input.length], if all inputs have the same length; or a list with one array for
   * each rank, as long as that rank's input.
   * @param input [length]; may be this rank's part of `output`, which is then not changed.
   */
  allGather(
    output: BufferByRank,
    input: CollectiveBuffer,
    options?: CollectiveOptions & Extra,
  ): Promise<void>;
  /** Blocking form of {@link Collectives.allGather}. */
  allGatherSync(output: BufferByRank, input: CollectiveBuffer, options?: CollectiveOptions & Extra): void;

  /**
   * Gathers the inputs of all ranks on rank `dst` (torch.distributed.gather). Default of `dst`: 0.
   *
   * @param input [length]; on `dst` it may be this rank's part of `output`.
   * @param options `output`, on `dst` only: one array, [size × length]; or a list with one array for each rank, as long
   * as that rank's input.
   */
  gather(input: CollectiveBuffer, options?: GatherOptions & Extra): Promise<void>;
  /** Blocking form of {@link Collectives.gather}. */
  gatherSync(input: CollectiveBuffer, options?: GatherOptions & Extra): void;

  /**
   * Scatters the parts of `input` on rank `src` to all ranks (torch.distributed.scatter). Default of `src`: 0.
   *
   * @param output receives this rank's part; [length]; on `src` it may be this rank's part of `input`.
   * @param options `input`, on `src` only: one array, [size × length]; or a list with one array for each rank, as long
   * as that rank's output.
   */
  scatter(output: CollectiveBuffer, options?: ScatterOptions & Extra): Promise<void>;
  /** Blocking form of {@link Collectives.scatter}. */
  scatterSync(output: CollectiveBuffer, options?: ScatterOptions & Extra): void;

  /**
   * Sends a part from every rank to every rank (torch.distributed.all_to_all_single, all_to_all): part b of rank a's
   * input becomes part a of rank b's output.
   *
   * @param output one array, divided by `outputSplitSizes` (elements from each rank; default: equal parts); or a list.
   * @param input one array, divided by `inputSplitSizes` (elements for each rank; default: equal parts); or a list.
   * Both arguments are arrays, or both are lists.
   */
  allToAll(output: BufferByRank, input: BufferByRank, options?: AllToAllOptions & Extra): Promise<void>;
  /** Blocking form of {@link Collectives.allToAll}. */
  allToAllSync(output: BufferByRank, input: BufferByRank, options?: AllToAllOptions & Extra): void;

  /** Resolves when every rank has called it (torch.distributed.barrier). */
  barrier(options?: CollectiveOptions & Extra): Promise<void>;
  /** Blocking form of {@link Collectives.barrier}. */
  barrierSync(options?: CollectiveOptions & Extra): void;

  /**
   * A `barrier` with its own name in reports (torch.distributed.monitored_barrier). As with every operation, its
   * `CollectiveTimeoutError` names all missing ranks (torch: `wait_all_ranks`). Unlike in torch, it is thrown on every
   * rank.
   */
  monitoredBarrier(options?: CollectiveOptions & Extra): Promise<void>;
  /** Blocking form of {@link Collectives.monitoredBarrier}. */
  monitoredBarrierSync(options?: CollectiveOptions & Extra): void;

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
  broadcastObject<T>(object: T, options?: BroadcastObjectOptions & Extra): Promise<T>;
  /** Blocking form of {@link Collectives.broadcastObject}. */
  broadcastObjectSync<T>(object: T, options?: BroadcastObjectOptions & Extra): T;

  /**
   * Gathers copies of all ranks' objects, by rank, on every rank (torch.distributed.all_gather_object). Errors: see
   * `broadcastObject`.
   */
  allGatherObject<T>(object: T, options?: CollectiveOptions & Extra): Promise<T[]>;
  /** Blocking form of {@link Collectives.allGatherObject}. */
  allGatherObjectSync<T>(object: T, options?: CollectiveOptions & Extra): T[];

  /**
   * Gathers copies of all ranks' objects, by rank, on rank `dst` (torch.distributed.gather_object). Default of `dst`:
   * 0. Resolves with undefined on the other ranks. Errors: see `broadcastObject`.
   */
  gatherObject<T>(object: T, options?: GatherObjectOptions & Extra): Promise<T[] | undefined>;
  /** Blocking form of {@link Collectives.gatherObject}. */
  gatherObjectSync<T>(object: T, options?: GatherObjectOptions & Extra): T[] | undefined;

  /**
   * Sends one of rank `src`'s objects to each rank (torch.distributed.scatter_object_list). Default of `src`: 0.
   * Returns a copy. Errors: see `broadcastObject`.
   *
   * @param objects on `src`, a list with one object for each rank; ignored on the other ranks.
   */
  scatterObject<T>(objects: readonly T[] | undefined, options?: ScatterObjectOptions & Extra): Promise<T>;
  /** Blocking form of {@link Collectives.scatterObject}. */
  scatterObjectSync<T>(objects: readonly T[] | undefined, options?: ScatterObjectOptions & Extra): T;
}

/**
 * Names of the collectives, without their `Sync` forms.
 *
 * @internal
 */
export type CollectiveName = {
  [Name in keyof Collectives]: Name extends `${string}Sync` ? never : Name;
}[keyof Collectives];

/** The arguments of a collective, `options` last. */
type ArgumentsOf<Name extends CollectiveName> = Required<Parameters<Collectives<{ group?: unknown }>[Name]>>;

type Declaration<Arguments extends unknown[]> = Arguments extends [
  ...infer Inputs,
  infer Options extends object,
]
  ? { inputs: Inputs['length']; options: OptionNames<Options> }
  : never;

/**
 * The number of arguments that precede the options of each collective, and the names of its options. ringrun's
 * functions pass the option `group` along, and the group compares it with itself.
 *
 * @internal
 */
export const collectives = {
  allReduce: { inputs: 1, options: { op: true, group: true, timeoutMs: true } },
  allReduceCoalesced: { inputs: 1, options: { op: true, group: true, timeoutMs: true } },
  reduce: { inputs: 1, options: { dst: true, op: true, group: true, timeoutMs: true } },
  reduceScatter: { inputs: 2, options: { op: true, group: true, timeoutMs: true } },
  broadcast: { inputs: 1, options: { src: true, group: true, timeoutMs: true } },
  allGather: { inputs: 2, options: { group: true, timeoutMs: true } },
  gather: { inputs: 1, options: { output: true, dst: true, group: true, timeoutMs: true } },
  scatter: { inputs: 1, options: { input: true, src: true, group: true, timeoutMs: true } },
  allToAll: {
    inputs: 2,
    options: { outputSplitSizes: true, inputSplitSizes: true, group: true, timeoutMs: true },
  },
  barrier: { inputs: 0, options: { group: true, timeoutMs: true } },
  monitoredBarrier: { inputs: 0, options: { group: true, timeoutMs: true } },
  broadcastObject: { inputs: 1, options: { src: true, group: true, timeoutMs: true } },
  allGatherObject: { inputs: 1, options: { group: true, timeoutMs: true } },
  gatherObject: { inputs: 1, options: { dst: true, group: true, timeoutMs: true } },
  scatterObject: { inputs: 1, options: { src: true, group: true, timeoutMs: true } },
} as const satisfies { [Name in CollectiveName]: Declaration<ArgumentsOf<Name>> };

/** @internal */
export const collectiveNames = Object.keys(collectives) as CollectiveName[];
