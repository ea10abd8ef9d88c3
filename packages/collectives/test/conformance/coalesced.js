// allReduceCoalesced: lists of short and long arrays.
import { bytesPerElement, reduceOpsFor } from '@ringrun/collectives';

import { memoryKinds } from './memory.js';
import { fillWith, patternOfReduction, patternOfTerms } from './values.js';

/**
 * Lengths of the arrays of one call: an empty list, an empty array, one; short ones, reduced together; and long ones
 * among them.
 */
const lists = [[], [0], [1000], [0, 1, 7, 0, 300, 2], [5, 40_000, 3, 0, 70_001, 9, 11]];

/** Enough short arrays that they are reduced in several parts. */
const many = Array.from({ length: 400 }, (_, i) => 3500 + (i % 13));

/** In the short form, one way for each width of element, and every kind of arithmetic. */
const fewWays = [
  ['float32', 'SUM'],
  ['bfloat16', 'AVG'],
  ['float64', 'PRODUCT'],
  ['int64', 'MAX'],
  ['uint8', 'BXOR'],
];

const everyWay = Object.keys(bytesPerElement).flatMap((dtype) =>
  reduceOpsFor(dtype).map((op) => [dtype, op]),
);

/** NCCL does not support bitwise ops. */
const onlyOfHosts = ['BAND', 'BOR', 'BXOR'];

/** `call(turn, …)` calls the group's method, in a form that may depend on the turn. */
export async function coalesced(world, call) {
  const ways = world.extent === 'full' ? everyWay : fewWays;
  const cases = ways.flatMap(([dtype, op]) => lists.map((lengths) => ({ dtype, op, lengths })));
  for (const [turn, one] of [...cases, { dtype: 'float32', op: 'SUM', lengths: many }].entries())
    await carryOut(world, { ...one, turn }, (...given) => call(turn, ...given));
}

export async function coalescedOnDevice(world) {
  const ways = fewWays.filter(([, op]) => !onlyOfHosts.includes(op));
  for (const [dtype, op] of ways)
    for (const lengths of lists) await carryOut(world, { dtype, op, lengths, turn: 0 }, world.call);
}

async function carryOut({ memory, rank, size, group }, { dtype, op, lengths, turn }, call) {
  const one = { dtype, op, size, backend: group.backend };
  const expected = new Map();
  const tensors = lengths.map((length, i) => {
    const kind = memoryKinds[(turn + i) % memoryKinds.length];
    const tensor = memory.take(dtype, length, kind, { giving: true });
    // Different values for each array, so that swapped arrays are detected.
    expected.set(tensor, patternOfReduction(one, i % 8));
    return fillWith(tensor, patternOfTerms(one, rank, i % 8));
  });
  await call('allReduceCoalesced', tensors, { op });
  memory.assertHolds(expected);
  memory.clear();
}
