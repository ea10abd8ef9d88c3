import type { Tensor } from './device-tensor.ts';
import type { OptionNames } from './require-options.ts';
import type { ReduceOp } from './reduce-op.ts';

/** Milliseconds that one operation may take before it fails, as torch.distributed's default for gloo: 30 minutes. */
export const defaultTimeoutMs = 30 * 60 * 1000;

/**
 * A part for each rank, in the order of the ranks. One array that holds all of them, equally long, one behind the other; or a list with
 * an array for each rank, whose lengths may differ.
 */
export type TensorByRank = Tensor | readonly Tensor[];

export interface CollectiveOptions {
  /** Milliseconds until this operation fails with a `CollectiveTimeoutError`; the group's `timeoutMs` unless given. */
  timeoutMs?: number;
}

export interface ReduceOpOption {
  /** `SUM` unless given, as torch.distributed.all_reduce. */
  op?: ReduceOp;
}

export interface SourceOption {
  /** Rank that has what the others get. 0 unless given. */
  src?: number;
}

export interface DestinationOption {
  /** Rank that ends with the result. 0 unless given. */
  dst?: number;
}

export interface TagOption {
  /** Tells apart messages between the same two ranks: an integer from 0, below 2^31. 0 unless given. */
  tag?: number;
}

export interface AllReduceOptions extends CollectiveOptions, ReduceOpOption {}

/** Unlike torch, where `src` must be given, 0 unless given. */
export interface BroadcastOptions extends CollectiveOptions, SourceOption {}

export interface ReduceOptions extends CollectiveOptions, ReduceOpOption, DestinationOption {}

export interface ReduceScatterOptions extends CollectiveOptions, ReduceOpOption {}

export interface GatherOptions extends CollectiveOptions, DestinationOption {
  /** Where the ranks' inputs land. On rank `dst`, and nowhere else. */
  output?: TensorByRank;
}

export interface ScatterOptions extends CollectiveOptions, SourceOption {
  /** What the ranks get. On rank `src`, and nowhere else. */
  input?: TensorByRank;
}

export interface AllToAllOptions extends CollectiveOptions {
  /** Elements of `output` that come from each rank, where it is one array; equal parts unless given. */
  outputSplitSizes?: readonly number[];
  /** Elements of `input` that go to each rank, where it is one array; equal parts unless given. */
  inputSplitSizes?: readonly number[];
}

export interface SendOptions extends CollectiveOptions, TagOption {}

export interface RecvOptions extends CollectiveOptions, TagOption {
  /** Rank that sends; unless given, whoever sends a message with this tag first. */
  src?: number;
}

export interface BroadcastObjectOptions extends CollectiveOptions, SourceOption {}

export interface GatherObjectOptions extends CollectiveOptions, DestinationOption {}

export interface ScatterObjectOptions extends CollectiveOptions, SourceOption {}

/** Options of the methods of `ProcessGroup`. Functions of ringrun hand on `group` with them, which the group compares with itself. */
export const collectiveOptions = {
  allReduce: { op: true, group: true, timeoutMs: true },
  reduce: { dst: true, op: true, group: true, timeoutMs: true },
  reduceScatter: { op: true, group: true, timeoutMs: true },
  broadcast: { src: true, group: true, timeoutMs: true },
  allGather: { group: true, timeoutMs: true },
  gather: { output: true, dst: true, group: true, timeoutMs: true },
  scatter: { input: true, src: true, group: true, timeoutMs: true },
  allToAll: { outputSplitSizes: true, inputSplitSizes: true, group: true, timeoutMs: true },
  send: { tag: true, group: true, timeoutMs: true },
  recv: { src: true, tag: true, group: true, timeoutMs: true },
  barrier: { group: true, timeoutMs: true },
  broadcastObject: { src: true, group: true, timeoutMs: true },
  allGatherObject: { group: true, timeoutMs: true },
  gatherObject: { dst: true, group: true, timeoutMs: true },
  scatterObject: { src: true, group: true, timeoutMs: true },
} as const satisfies {
  allReduce: NamesOf<AllReduceOptions>;
  reduce: NamesOf<ReduceOptions>;
  reduceScatter: NamesOf<ReduceScatterOptions>;
  broadcast: NamesOf<BroadcastOptions>;
  allGather: NamesOf<CollectiveOptions>;
  gather: NamesOf<GatherOptions>;
  scatter: NamesOf<ScatterOptions>;
  allToAll: NamesOf<AllToAllOptions>;
  send: NamesOf<SendOptions>;
  recv: NamesOf<RecvOptions>;
  barrier: NamesOf<CollectiveOptions>;
  broadcastObject: NamesOf<BroadcastObjectOptions>;
  allGatherObject: NamesOf<CollectiveOptions>;
  gatherObject: NamesOf<GatherObjectOptions>;
  scatterObject: NamesOf<ScatterObjectOptions>;
};

/** Of what has no other. */
export const timeoutOption: OptionNames<CollectiveOptions> = { timeoutMs: true };

type NamesOf<Options extends object> = OptionNames<Options & { group: unknown }>;
