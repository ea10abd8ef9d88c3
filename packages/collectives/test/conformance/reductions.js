// allReduce, reduce and reduceScatter.
import { fillWith, patternOfReduction, patternOfTerms } from './values.js';

const unequalLength = (length, to) => (to % 3 === 1 ? 0 : length + ((to * 3) % 8));

/** Each runs one case, and returns the arrays that must be the same on every rank. */
export const reductions = {
  allReduce: async (world, one) => {
    const { memory, rank } = world;
    const tensor = memory.take(one.dtype, one.length, one.kind, { giving: true });
    fillWith(tensor, patternOfTerms(one, rank));
    await world.call('allReduce', tensor, { op: one.op });
    memory.assertHolds(new Map([[tensor, patternOfReduction(one)]]));
    return [tensor];
  },

  reduce: async (world, one) => {
    const { memory, rank } = world;
    const tensor = memory.take(one.dtype, one.length, one.kind, { giving: true });
    const own = patternOfTerms(one, rank);
    fillWith(tensor, own);
    await world.call('reduce', tensor, { op: one.op, dst: one.root });
    memory.assertHolds(new Map([[tensor, rank === one.root ? patternOfReduction(one) : own]]));
    return [];
  },

  reduceScatter: async (world, one) => {
    const { memory, rank, ranks } = world;
    const input = memory.take(one.dtype, one.part * ranks.length, one.kind, { giving: true });
    const parts = ranks.map((to) => ({
      part: fillWith(input.subarray(to * one.part, (to + 1) * one.part), patternOfTerms(one, rank, to)),
      pattern: patternOfTerms(one, rank, to),
    }));
    const output = memory.take(one.dtype, one.part, one.kind, { giving: false });
    await world.call('reduceScatter', output, input, { op: one.op });
    const expected = [
      [input, parts],
      [output, patternOfReduction(one, rank)],
    ];
    memory.assertHolds(new Map(expected));
    return [];
  },

  reduceScatterOfLists: async (world, one) => {
    const { memory, rank, ranks } = world;
    const given = ranks.map((to) => {
      const part = memory.take(one.dtype, unequalLength(one.part, to), one.kind, { peer: to, giving: true });
      const pattern = patternOfTerms(one, rank, to);
      return [fillWith(part, pattern), pattern];
    });
    const output = memory.take(one.dtype, unequalLength(one.part, rank), one.kind, { giving: false });
    const inputs = given.map(([part]) => part);
    await world.call('reduceScatter', output, inputs, { op: one.op });
    memory.assertHolds(new Map([...given, [output, patternOfReduction(one, rank)]]));
    return [];
  },
};
