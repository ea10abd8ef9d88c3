import type { CollectiveBuffer } from './device-tensor.ts';
import type { OptionNames } from './require-options.ts';
import type { ReduceOp } from './reduce-op.ts';
import type { CollectiveOptions } from './timeout-option.ts';

/** Default timeout of an operation, in milliseconds: 30 minutes, as torch.distributed's default for gloo. */
export const defaultTimeoutMs = 30 * 60 * 1000;

/** More ranks than any job has. Rank 0 keeps an entry for each missing rank, so a mistyped number would use gigabytes. */
export const highestWorldSize = 2 ** 20;

/**
 * One part for each rank, in rank order: one array with parts of equal length one after another, or a list with one
 * array for each rank, whose lengths may differ.
 */
export type BufferByRank = CollectiveBuffer | readonly CollectiveBuffer[];

/** Option of the operations that reduce. */
export interface ReduceOpOption {
  /** The reduction. Default: `SUM`, as in torch.distributed.all_reduce. */
  op?: ReduceOp;
}

/** Option of the operations in which one rank sends to all. */
export interface SourceOption {
  /** Rank that holds the data to send. Default: 0. */
  src?: number;
}

/** Option of the operations in which one rank receives from all. */
export interface DestinationOption {
  /** Rank that receives the result. Default: 0. */
  dst?: number;
}

/** Option of point-to-point messages. */
export interface TagOption {
  /** Distinguishes messages between the same two ranks: an integer from 0 to 2^31 − 1. Default: 0. */
  tag?: number;
}

/** Options of {@link ProcessGroup.allReduce} and {@link ProcessGroup.allReduceCoalesced}. */
export interface AllReduceOptions extends CollectiveOptions, ReduceOpOption {}

/** Options of {@link ProcessGroup.broadcast}. `src` is optional, unlike in torch. */
export interface BroadcastOptions extends CollectiveOptions, SourceOption {}

/** Options of {@link ProcessGroup.reduce}. */
export interface ReduceOptions extends CollectiveOptions, ReduceOpOption, DestinationOption {}

/** Options of {@link ProcessGroup.reduceScatter}. */
export interface ReduceScatterOptions extends CollectiveOptions, ReduceOpOption {}

/** Options of {@link ProcessGroup.gather}. */
export interface GatherOptions extends CollectiveOptions, DestinationOption {
  /** Receives the ranks' inputs. Only on rank `dst`. */
  output?: BufferByRank;
}

/** Options of {@link ProcessGroup.scatter}. */
export interface ScatterOptions extends CollectiveOptions, SourceOption {
  /** The parts to send to the ranks. Only on rank `src`. */
  input?: BufferByRank;
}

/** Options of {@link ProcessGroup.allToAll}. */
export interface AllToAllOptions extends CollectiveOptions {
  /** Elements of `output` received from each rank, if it is one array. Default: equal parts. */
  outputSplitSizes?: readonly number[];
  /** Elements of `input` sent to each rank, if it is one array. Default: equal parts. */
  inputSplitSizes?: readonly number[];
}

/** Options of {@link ProcessGroup.send} and {@link ProcessGroup.isend}. */
export interface SendOptions extends CollectiveOptions, TagOption {}

/** Options of {@link ProcessGroup.recv} and {@link ProcessGroup.irecv}. */
export interface RecvOptions extends CollectiveOptions, TagOption {
  /** Rank that sends. Default: any rank; the first message with this tag is received. */
  src?: number;
}

/** Options of {@link ProcessGroup.broadcastObject}. */
export interface BroadcastObjectOptions extends CollectiveOptions, SourceOption {}

/** Options of {@link ProcessGroup.gatherObject}. */
export interface GatherObjectOptions extends CollectiveOptions, DestinationOption {}

/** Options of {@link ProcessGroup.scatterObject}. */
export interface ScatterObjectOptions extends CollectiveOptions, SourceOption {}

/**
 * Option names of messages. Those of collectives are part of `collectives`.
 *
 * @internal
 */
export const messageOptions = {
  send: { tag: true, group: true, timeoutMs: true },
  recv: { src: true, tag: true, group: true, timeoutMs: true },
} as const satisfies {
  send: OptionNames<SendOptions & { group: unknown }>;
  recv: OptionNames<RecvOptions & { group: unknown }>;
};
