// broadcast, allGather, gather, scatter and allToAll, with one array for all ranks and with lists.
import { fillWith, patternOfTerms } from './values.js';

const equally = (length) => length;
/** Every third pair exchanges no elements. */
const unequally = (length, from, to) => ((from + 2 * to) % 3 === 1 ? 0 : length + ((from * 5 + to * 3) % 8));

/** Each runs one case, and returns the arrays that must be the same on every rank. */
export const movements = {
  broadcast: async (world, one) => {
    const { memory, rank } = world;
    const giving = rank === one.root;
    const tensor = memory.take(one.dtype, one.length, one.kind, { giving });
    if (giving) fillWith(tensor, patternOfTerms(one, rank));
    await world.call('broadcast', tensor, { src: one.root });
    memory.assertHolds(new Map([[tensor, patternOfTerms(one, one.root)]]));
    return [tensor];
  },

  allGather: async (world, one) => {
    const { memory, rank } = world;
    const output = takeWhole(world, one, false);
    const parts = partsFrom(world, one, output);
    const input = ownInput(world, one, one.part, parts[rank].part);
    await world.call('allGather', output, input);
    memory.assertHolds(
      new Map([
        [input, patternOfTerms(one, rank)],
        [output, parts],
      ]),
    );
    return [output];
  },

  allGatherOfEqualLists: (world, one) => allGatherOfLists(world, one, equally),
  allGatherOfLists: (world, one) => allGatherOfLists(world, one, unequally),

  gather: async (world, one) => {
    const { memory, rank } = world;
    const isRoot = rank === one.root;
    const output = isRoot ? takeWhole(world, one, false) : undefined;
    const parts = output && partsFrom(world, one, output);
    const input = ownInput(world, one, one.part, parts?.[rank].part);
    await world.call('gather', input, { dst: one.root, ...(output && { output }) });
    const expected = new Map([[input, patternOfTerms(one, rank)]]);
    if (output) expected.set(output, parts);
    memory.assertHolds(expected);
    return [];
  },

  gatherOfEqualLists: (world, one) => gatherOfLists(world, one, equally),
  gatherOfLists: (world, one) => gatherOfLists(world, one, unequally),

  scatter: async (world, one) => {
    const { memory, rank } = world;
    const isRoot = rank === one.root;
    const input = isRoot ? takeWhole(world, one, true) : undefined;
    const parts = input && partsTo(world, one, input);
    const output = ownOutput(world, one, one.part, parts?.[rank].part);
    await world.call('scatter', output, { src: one.root, ...(input && { input }) });
    const expected = new Map([[output, patternOfTerms(one, one.root, rank)]]);
    if (input) expected.set(input, parts);
    memory.assertHolds(expected);
    return [];
  },

  scatterOfEqualLists: (world, one) => scatterOfLists(world, one, equally),
  scatterOfLists: (world, one) => scatterOfLists(world, one, unequally),

  allToAll: async (world, one) => {
    const { memory } = world;
    const input = takeWhole(world, one, true);
    const given = partsTo(world, one, input);
    const output = takeWhole(world, one, false);
    await world.call('allToAll', output, input);
    memory.assertHolds(
      new Map([
        [input, given],
        [output, partsFor(world, one, output)],
      ]),
    );
    return [];
  },

  allToAllOfEqualLists: (world, one) => allToAllOfLists(world, one, equally),
  allToAllOfLists: (world, one) => allToAllOfLists(world, one, unequally),

  allToAllOfSplits: async (world, one) => {
    const { memory, rank, ranks } = world;
    const inputSplitSizes = ranks.map((to) => unequally(one.part, rank, to));
    const outputSplitSizes = ranks.map((from) => unequally(one.part, from, rank));
    const input = memory.take(one.dtype, sumOf(inputSplitSizes), one.kind, { giving: true });
    const given = partsTo(world, one, input, inputSplitSizes);
    const output = memory.take(one.dtype, sumOf(outputSplitSizes), one.kind, { giving: false });
    await world.call('allToAll', output, input, { inputSplitSizes, outputSplitSizes });
    memory.assertHolds(
      new Map([
        [input, given],
        [output, partsFor(world, one, output, outputSplitSizes)],
      ]),
    );
    return [];
  },
};

async function allGatherOfLists(world, one, lengthOf) {
  const { memory, rank } = world;
  const taken = takeList(world, one, (from) => lengthOf(one.part, from, 0), false);
  const input = ownInput(world, one, lengthOf(one.part, rank, 0), taken[rank]);
  await world.call('allGather', taken, input);
  memory.assertHolds(
    new Map([
      [input, patternOfTerms(one, rank)],
      ...taken.map((part, from) => [part, patternOfTerms(one, from)]),
    ]),
  );
  return taken;
}

async function gatherOfLists(world, one, lengthOf) {
  const { memory, rank } = world;
  const isRoot = rank === one.root;
  const taken = isRoot ? takeList(world, one, (from) => lengthOf(one.part, from, 0), false) : [];
  const input = ownInput(world, one, lengthOf(one.part, rank, 0), taken[rank]);
  await world.call('gather', input, { dst: one.root, ...(isRoot && { output: taken }) });
  memory.assertHolds(
    new Map([
      [input, patternOfTerms(one, rank)],
      ...taken.map((part, from) => [part, patternOfTerms(one, from)]),
    ]),
  );
  return [];
}

async function scatterOfLists(world, one, lengthOf) {
  const { memory, rank } = world;
  const isRoot = rank === one.root;
  const given = isRoot ? takeList(world, one, (to) => lengthOf(one.part, rank, to), true) : [];
  given.forEach((part, to) => fillWith(part, patternOfTerms(one, rank, to)));
  const output = ownOutput(world, one, lengthOf(one.part, one.root, rank), given[rank]);
  await world.call('scatter', output, { src: one.root, ...(isRoot && { input: given }) });
  memory.assertHolds(
    new Map([
      [output, patternOfTerms(one, one.root, rank)],
      ...given.map((part, to) => [part, patternOfTerms(one, rank, to)]),
    ]),
  );
  return [];
}

async function allToAllOfLists(world, one, lengthOf) {
  const { memory, rank } = world;
  const given = takeList(world, one, (to) => lengthOf(one.part, rank, to), true);
  given.forEach((part, to) => fillWith(part, patternOfTerms(one, rank, to)));
  const taken = takeList(world, one, (from) => lengthOf(one.part, from, rank), false);
  await world.call('allToAll', taken, given);
  memory.assertHolds(
    new Map([
      ...given.map((part, to) => [part, patternOfTerms(one, rank, to)]),
      ...taken.map((part, from) => [part, patternOfTerms(one, from, rank)]),
    ]),
  );
  return [];
}

/** This rank's input: its own part of the output (in place) or a separate array. */
function ownInput({ memory, rank }, one, length, ownPart) {
  const isInPlace = one.inPlace && ownPart !== undefined;
  const input = isInPlace ? ownPart : memory.take(one.dtype, length, one.kind, { giving: true });
  return fillWith(input, patternOfTerms(one, rank));
}

/** The output; in place it already holds the expected values. */
function ownOutput({ memory }, one, length, ownPart) {
  const isInPlace = one.inPlace && ownPart !== undefined;
  return isInPlace ? ownPart : memory.take(one.dtype, length, one.kind, { giving: false });
}

const takeWhole = ({ memory, ranks }, { dtype, part, kind }, giving) =>
  memory.take(dtype, ranks.length * part, kind, { giving });

const takeList = ({ memory, ranks }, { dtype, kind }, lengthOf, giving) =>
  ranks.map((peer) => memory.take(dtype, lengthOf(peer), kind, { peer, giving }));

/** Parts of an array by rank, with the expected pattern of each. */
function divided({ ranks }, one, whole, patternFor, sizes = ranks.map(() => one.part)) {
  let end = 0;
  return sizes.map((length, rank) => ({
    part: whole.subarray(end, (end += length)),
    pattern: patternFor(rank),
  }));
}

const partsFrom = (world, one, whole) => divided(world, one, whole, (from) => patternOfTerms(one, from));

const partsFor = (world, one, whole, sizes) =>
  divided(world, one, whole, (from) => patternOfTerms(one, from, world.rank), sizes);

function partsTo(world, one, whole, sizes) {
  const parts = divided(world, one, whole, (to) => patternOfTerms(one, world.rank, to), sizes);
  for (const { part, pattern } of parts) fillWith(part, pattern);
  return parts;
}

const sumOf = (numbers) => numbers.reduce((sum, one) => sum + one, 0);
