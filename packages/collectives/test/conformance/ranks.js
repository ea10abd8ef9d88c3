// One rank of the conformance suite: runs every case with the other ranks.
import { createHash } from 'node:crypto';

import { largest, largestPart, movementCases, reductionCases, Turns } from './cases.js';
import { coalesced } from './coalesced.js';
import { Memory } from './memory.js';
import { messages } from './messages.js';
import { movements } from './movements.js';
import { allocations, barriers, objects, roundings } from './others.js';
import { reductions } from './reductions.js';
import { bytesOf } from './values.js';

/**
 * args.extent: 'short' or 'full'. Reports, by collective, the number of cases and a hash of the arrays that must be the
 * same on every rank.
 */
export async function conformance({ group, rank, size, store, args, report }) {
  const ranks = Array.from({ length: size }, (_, one) => one);
  const world = { group, rank, size, ranks, store, extent: args.extent, turns: new Turns() };
  world.memory = new Memory(group, maxBytes(world));
  const summary = {};
  for (const [name, cases] of Object.entries(allCases(world)))
    summary[name] = await carryOut(world, name, cases);
  const sync = (turn) => ['Sync', ''][(turn + rank) % 2];
  await whileIn('allReduceCoalesced', () =>
    coalesced(world, (turn, name, ...given) => group[name + sync(turn)](...given)),
  );
  for (const [name, other] of Object.entries({ allocations, barriers, objects })) {
    await whileIn(name, () => other(world));
  }
  const lengths = args.extent === 'full' ? [7, 1000, 65_537, 1_000_000] : [7, 1000, 65_537];
  const rounded = await whileIn('roundings', () => roundings(world, lengths));
  summary.roundings = { hash: hashOf(rounded) };
  await group.destroy();
  await report({ transport: group.transport, summary });
}

/**
 * Bytes for the largest elements: a part from and for every rank, or three messages of each, or two whole arrays; plus
 * unequal lengths and guards.
 */
function maxBytes(world) {
  const parts = 3 * world.size + 1;
  return Math.max(parts * (largestPart(world) + 32), 2 * (largest + 32)) * 8;
}

/** By name: a function that runs a case, and the cases. */
function allCases(world) {
  const of = (functions, cases) => Object.entries(functions).map(([name, one]) => [name, { one, cases }]);
  return Object.fromEntries([
    ...of(reductions, reductionCases(world)),
    ...of(movements, movementCases(world)),
    ...of(messages, movementCases(world)),
  ]);
}

async function carryOut(world, name, { one, cases }) {
  const hash = createHash('sha1');
  for (const settings of cases) {
    const turn = { ...settings, ...world.turns.next(world, settings) };
    const same = await whileIn(describe(name, turn), () => one(inForm(world, turn.form), turn));
    for (const array of same) hash.update(bytesOf(array));
    world.memory.clear();
  }
  return { cases: cases.length, hash: hash.digest('hex') };
}

/** `call` calls a method of the group in the form that the turn chooses. */
function inForm(world, form) {
  const { group } = world;
  return { ...world, call: (name, ...given) => group[name + form](...given) };
}

const describe = (name, { dtype, op = '', length, part, kind, form, root, inPlace }) =>
  `${name}${form} ${op} of ${part} (length ${length}) in ${dtype}, ${kind} memory, root ${root}, in place: ${inPlace}`;

async function whileIn(what, act) {
  try {
    return await act();
  } catch (error) {
    throw new Error(`while in ${what}`, { cause: error });
  }
}

function hashOf(arrays) {
  const hash = createHash('sha1');
  for (const array of arrays) hash.update(array);
  return hash.digest('hex');
}
