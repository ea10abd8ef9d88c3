// Three ranks call different operations: all three differ, or one rank differs from the other two.
import assert from 'node:assert/strict';

import { allReduceQuantized, QuantizationError } from '@ringrun/collectives';
import { BFloat16Bits, Float16Bits } from '@ringrun/core';
import type { ProcessGroup } from '@ringrun/core';

import { formGroup } from '../fixtures/groups.ts';
import { failureOf } from '../fixtures/scenario.ts';
import type { Rank } from '../fixtures/scenario.ts';

/** Initial value of every element; arrays must still hold it afterwards. */
const untouched = 7;

interface Args {
  /** Elements of an array, roughly. */
  length: number;
  /** The rank that differs, if only one does. */
  odd?: number;
}

type Class =
  typeof Float32Array | typeof Int32Array | typeof Uint32Array | typeof Float16Bits | typeof BFloat16Bits;

interface Caller {
  group: ProcessGroup;
  rank: number;
  isOdd: boolean;
  length: number;
  array: (elements: number, Class?: Class) => InstanceType<Class>;
  /** Fills an array that must not change. */
  watch: (array: Float32Array) => Float32Array;
}

/** Creates a group for each case, in which every rank makes its call. Reports each rank's error, by case. */
export async function disagreements({
  rank,
  size,
  store,
  args,
  report,
}: Rank<Args & { cases: (keyof typeof calls)[] }>): Promise<void> {
  const found: Record<string, object> = {};
  for (const name of args.cases) {
    const group = await formGroup({ rank, size, store }, name);
    found[name] = await refusal(group, calls[name], args);
  }
  await report({ found });
}
disagreements.formsGroupItself = true;

async function refusal(
  group: ProcessGroup,
  call: (caller: Caller) => () => Promise<unknown>,
  { length, odd }: Args,
): Promise<object> {
  const arrays: (InstanceType<Class> | Float32Array)[] = [];
  const array = (elements: number, Class: Class = Float32Array) => {
    const one = new Class(elements).fill(untouched);
    arrays.push(one);
    return one;
  };
  const watch = (one: Float32Array) => {
    arrays.push(one.fill(untouched));
    return one;
  };
  const operate = call({ group, rank: group.rank, isOdd: group.rank === odd, length, array, watch });
  const error = await failureOf(operate());
  const again = await failureOf(group.barrier());
  // A failed destroy fails again.
  const destroyed = await failureOf(group.destroy());
  if (destroyed) assert.equal(destroyed, error);
  return {
    name: error?.name ?? 'none',
    message: error?.message,
    untouched: arrays.every((one) => one.every((element) => element === untouched)),
    refusesMore: again === error,
  };
}

const ranks = [0, 1, 2];

/** A rank's call, by name, with arrays of about `length` elements. */
const calls = {
  op: ({ group, isOdd, length, array }) => {
    const tensor = array(length);
    return () => group.allReduce(tensor, { op: isOdd ? 'MAX' : 'SUM' });
  },
  average: ({ group, isOdd, length, array }) => {
    const tensor = array(length);
    return () => group.reduce(tensor, { op: isOdd ? 'AVG' : 'SUM' });
  },
  opOfParts: ({ group, rank, length, array }) => {
    const [output, input] = [array(length), array(3 * length)];
    return () => group.reduceScatter(output, input, { op: (['SUM', 'MIN', 'PRODUCT'] as const)[rank] });
  },
  dtype: ({ group, isOdd, length, array }) => {
    const tensor = array(length, isOdd ? Int32Array : Float32Array);
    return () => group.allReduce(tensor);
  },
  dtypeOf16Bits: ({ group, isOdd, length, array }) => {
    const tensor = array(length, isOdd ? BFloat16Bits : Float16Bits);
    return () => group.broadcast(tensor);
  },
  dtypeOfParts: ({ group, rank, length, array }) => {
    const Class = [Float32Array, Int32Array, Uint32Array][rank];
    const [output, input] = [array(3 * length, Class), array(length, Class)];
    return () => group.allGather(output, input);
  },
  count: ({ group, rank, length, array }) => {
    const tensor = array(length + rank);
    return () => group.allReduce(tensor);
  },
  countOfReduce: ({ group, rank, length, array }) => {
    const tensor = array(length + rank);
    return () => group.reduce(tensor);
  },
  countOfBroadcast: ({ group, rank, length, array }) => {
    const tensor = array(length + rank);
    return () => group.broadcast(tensor);
  },
  arraysOfCoalesced: ({ group, rank, length, array }) => {
    const tensors = ranks.slice(0, rank).map(() => array(length));
    return () => group.allReduceCoalesced(tensors);
  },
  lengthsOfCoalesced: ({ group, rank, length, array }) => {
    const tensors = [array(length), array(length + rank), array(length - rank)];
    return () => group.allReduceCoalesced(tensors);
  },
  bitsOfQuantized: ({ group, isOdd, length, watch }) => {
    const tensor = watch(new Float32Array(length));
    return () => allReduceQuantized(group, tensor, { bits: isOdd ? 4 : 8 });
  },
  countOfQuantized: ({ group, rank, length, watch }) => {
    const tensor = watch(new Float32Array(length + rank));
    const error = new QuantizationError(length + rank);
    watch(error.values);
    return () => allReduceQuantized(group, tensor, { bits: 8, op: 'SUM', error });
  },
  rootOfBroadcast: ({ group, rank, length, array }) => {
    const tensor = array(length);
    return () => group.broadcast(tensor, { src: rank });
  },
  rootOfReduce: ({ group, rank, length, array }) => {
    const tensor = array(length);
    return () => group.reduce(tensor, { dst: rank });
  },
  rootOfGather: ({ group, rank, length, array }) => {
    const [input, output] = [array(length), array(3 * length)];
    return () => group.gather(input, { dst: rank, output });
  },
  rootOfScatter: ({ group, rank, length, array }) => {
    const [output, input] = [array(length), array(3 * length)];
    return () => group.scatter(output, { src: rank, input });
  },
  partsOfAllGather: ({ group, rank, length, array }) => {
    const [output, input] = [array(3 * (length + rank)), array(length + rank)];
    return () => group.allGather(output, input);
  },
  listsOfAllGather: ({ group, rank, length, array }) => {
    const output = ranks.map((from) => array(from === 0 ? length + rank : length));
    const input = array(length);
    return () => group.allGather(output, input);
  },
  partsOfReduceScatter: ({ group, rank, length, array }) => {
    const [output, input] = [array(length + rank), array(3 * (length + rank))];
    return () => group.reduceScatter(output, input);
  },
  listsOfReduceScatter: ({ group, rank, length, array }) => {
    const input = ranks.map((to) => array(to === 2 ? length + 2 - rank : length));
    const output = array(length);
    return () => group.reduceScatter(output, input);
  },
  partsOfAllToAll: ({ group, rank, length, array }) => {
    const [output, input] = [array(3 * (length + rank)), array(3 * (length + rank))];
    return () => group.allToAll(output, input);
  },
  splitsOfAllToAll: ({ group, rank, isOdd, length, array }) => {
    const [output, input] = [array(3 * length), array(3 * length)];
    // The odd rank sends the next rank more elements than it expects, and the rank after that fewer.
    const inputSplitSizes = ranks.map((to) => length + (isOdd ? [0, 1, -1][(to - rank + 3) % 3] : 0));
    return () => group.allToAll(output, input, { inputSplitSizes });
  },
  partsOfGather: ({ group, rank, length, array }) => {
    const [input, output] = [array(length + rank), array(3 * length)];
    return () => group.gather(input, rank === 0 ? { output } : {});
  },
  partsOfScatter: ({ group, rank, length, array }) => {
    const [output, input] = [array(length + rank), array(3 * length)];
    return () => group.scatter(output, rank === 0 ? { input } : {});
  },
  operation: ({ group, rank, length, array }) => {
    const tensor = array(length);
    return [() => group.allReduce(tensor), () => group.broadcast(tensor), () => group.barrier()][rank];
  },
  operationOfParts: ({ group, rank, length, array }) => {
    const [output, input, part] = [array(3 * length), array(3 * length), array(length)];
    const operations = [
      () => group.allToAll(output, input),
      () => group.allGather(output, part),
      () => group.reduceScatter(part, input),
    ];
    return operations[rank];
  },
  monitored:
    ({ group, isOdd }) =>
    () =>
      isOdd ? group.monitoredBarrier() : group.barrier(),
  destroy: ({ group, isOdd, length, array }) => {
    const tensor = array(length);
    return () => (isOdd ? group.destroy() : group.allReduce(tensor));
  },
} satisfies Record<string, (caller: Caller) => () => Promise<unknown>>;
