import type { NativeProcessGroup } from '@ringrun/native';

import type { CollectiveName, Collectives } from '@ringrun/core';
import * as objectCollectives from '../objects.ts';
import type { Place } from './arguments.ts';
import type { Exchange } from './exchanges.ts';
import { allGatherExchange, allToAllExchange, gatherExchange, scatterExchange } from './exchanges.ts';
import {
  allReduceCoalescedOperands,
  allReduceOperands,
  broadcastOperands,
  exchangeOperands,
  reduceOperands,
  reduceScatterOperands,
} from './operands.ts';

/** The addon's call of one collective with checked arguments; `blocking` selects its `Sync` form. */
export type NativeOperation = (
  native: NativeProcessGroup,
  timeoutMs: number,
  blocking: boolean,
) => Promise<void> | void;

/** Collectives that are one call of the addon; the others consist of several (`objects.ts`). */
type NativeCollectiveName = Exclude<CollectiveName, `${string}Object`>;

type Prepare<Arguments extends unknown[]> = Arguments extends [...infer Inputs, infer Options]
  ? (place: Place, options: Options, ...inputs: Inputs) => NativeOperation
  : never;

/**
 * The addon's call of each collective. Each entry checks the arguments, options first, and returns the call, which the
 * group makes when it is the operation's turn.
 */
export const nativeCollectives = {
  // Does not spread the operands: a spread costs a tenth of the shortest call.
  allReduce: (_, options, tensor) => {
    const [data, dtype, op] = allReduceOperands(tensor, options);
    return (native, timeoutMs, blocking) => {
      if (!blocking) return native.allReduce(data, dtype, op, timeoutMs);
      native.allReduceSync(data, dtype, op, timeoutMs);
      return undefined;
    };
  },
  allReduceCoalesced: (_, options, tensors) => {
    const operands = allReduceCoalescedOperands(tensors, options);
    return (native, timeoutMs, blocking) =>
      native[blocking ? 'allReduceCoalescedSync' : 'allReduceCoalesced'](...operands, timeoutMs);
  },
  reduce: (place, options, tensor) => {
    const operands = reduceOperands(place, tensor, options);
    return (native, timeoutMs, blocking) =>
      native[blocking ? 'reduceSync' : 'reduce'](...operands, timeoutMs);
  },
  reduceScatter: (place, options, output, input) => {
    const operands = reduceScatterOperands(place, output, input, options);
    return (native, timeoutMs, blocking) =>
      native[blocking ? 'reduceScatterSync' : 'reduceScatter'](...operands, timeoutMs);
  },
  broadcast: (place, options, tensor) => {
    const operands = broadcastOperands(place, tensor, options);
    return (native, timeoutMs, blocking) =>
      native[blocking ? 'broadcastSync' : 'broadcast'](...operands, timeoutMs);
  },
  allGather: (place, _, output, input) => exchange(allGatherExchange(place, output, input)),
  gather: (place, options, input) => exchange(gatherExchange(place, input, options)),
  scatter: (place, options, output) => exchange(scatterExchange(place, output, options)),
  allToAll: (place, options, output, input) => exchange(allToAllExchange(place, output, input, options)),
  barrier: () => barrier(false),
  monitoredBarrier: () => barrier(true),
} satisfies { [Name in NativeCollectiveName]: Prepare<Required<Parameters<Collectives[Name]>>> };

function exchange(checked: Exchange): NativeOperation {
  const operands = exchangeOperands(checked);
  return (native, timeoutMs, blocking) =>
    native[blocking ? 'exchangeSync' : 'exchange'](...operands, timeoutMs);
}

function barrier(monitored: boolean): NativeOperation {
  return (native, timeoutMs, blocking) => native[blocking ? 'barrierSync' : 'barrier'](monitored, timeoutMs);
}

/** The steps of each object collective. */
export const steppedCollectives = {
  broadcastObject: objectCollectives.broadcastObject,
  allGatherObject: objectCollectives.allGatherObject,
  gatherObject: objectCollectives.gatherObject,
  scatterObject: objectCollectives.scatterObject,
} satisfies Record<Exclude<CollectiveName, NativeCollectiveName>, unknown>;
