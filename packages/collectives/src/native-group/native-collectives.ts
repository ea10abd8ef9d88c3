import type { NativeCollectives, NativeProcessGroup } from '@ringrun/native';

import type { CollectiveName, Collectives } from '@ringrun/core';
import * as objectCollectives from '../objects.ts';
import type { Place } from './arguments.ts';
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

type OperandsOf<Name extends keyof NativeCollectives> =
  Parameters<NativeCollectives[Name]> extends [...infer Operands, timeoutMs: number] ? Operands : never;

type AddonFunction = (...operands: unknown[]) => Promise<void> | void;

/** The addon's function `name` and its `Sync` form. */
function inBothForms<Name extends keyof NativeCollectives>(
  name: Name,
): (operands: OperandsOf<Name>) => NativeOperation {
  const nameSync = `${name}Sync`;
  return (operands) => (native, timeoutMs, blocking) => {
    const functions = native as unknown as Readonly<Record<string, AddonFunction>>;
    return functions[blocking ? nameSync : name](...operands, timeoutMs);
  };
}

const allReduceCoalesced = inBothForms('allReduceCoalesced');
const reduce = inBothForms('reduce');
const reduceScatter = inBothForms('reduceScatter');
const broadcast = inBothForms('broadcast');
const exchange = inBothForms('exchange');

/**
 * The addon's call of each collective. Each entry checks the arguments, options first, and returns the call, which the
 * group makes when it is the operation's turn.
 */
export const nativeCollectives = {
  // A spread of the operands would take a tenth of the shortest call's time.
  allReduce: (_, options, tensor) => {
    const [data, dtype, op] = allReduceOperands(tensor, options);
    return (native, timeoutMs, blocking) => {
      if (!blocking) return native.allReduce(data, dtype, op, timeoutMs);
      native.allReduceSync(data, dtype, op, timeoutMs);
      return undefined;
    };
  },
  allReduceCoalesced: (_, options, tensors) =>
    allReduceCoalesced(allReduceCoalescedOperands(tensors, options)),
  reduce: (place, options, tensor) => reduce(reduceOperands(place, tensor, options)),
  reduceScatter: (place, options, output, input) =>
    reduceScatter(reduceScatterOperands(place, output, input, options)),
  broadcast: (place, options, tensor) => broadcast(broadcastOperands(place, tensor, options)),
  allGather: (place, _, output, input) => exchange(exchangeOperands(allGatherExchange(place, output, input))),
  gather: (place, options, input) => exchange(exchangeOperands(gatherExchange(place, input, options))),
  scatter: (place, options, output) => exchange(exchangeOperands(scatterExchange(place, output, options))),
  allToAll: (place, options, output, input) =>
    exchange(exchangeOperands(allToAllExchange(place, output, input, options))),
  barrier: () => barrier(false),
  monitoredBarrier: () => barrier(true),
} satisfies { [Name in NativeCollectiveName]: Prepare<Required<Parameters<Collectives[Name]>>> };

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
