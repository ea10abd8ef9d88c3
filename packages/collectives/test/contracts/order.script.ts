// Concurrent operations in one group, and in groups that share ranks.
import assert from 'node:assert/strict';

import type { ProcessGroup } from '@ringrun/core';

import { formGroup } from '../fixtures/groups.ts';
import type { Member, Rank } from '../fixtures/scenario.ts';

/** The value that a rank sends to a rank in operation `turn`: exact in float32, and distinct. */
const termOf = (turn: number, from: number, to = 0): number => (turn % 1000) * 256 + from * 16 + to;

/** Short and long ones, mixed. */
const lengths = [3, 70_000, 0, 1000, 1, 5000];

/**
 * Each starts operation `turn` of a group and resolves when its result has been checked. `places`: the group's ranks.
 */
const operations: ((group: ProcessGroup, places: number[], turn: number, length: number) => Promise<void>)[] =
  [
    async (group, places, turn, length) => {
      const tensor = filled(length, termOf(turn, group.rank));
      await group.allReduce(tensor);
      assertFilled(tensor, sumOf(places.map((from) => termOf(turn, from))), turn);
    },
    async (group, _places, turn, length) => {
      const src = turn % group.size;
      const tensor = filled(length, termOf(turn, group.rank));
      await group.broadcast(tensor, { src });
      assertFilled(tensor, termOf(turn, src), turn);
    },
    async (group, places, turn, length) => {
      const output = places.map(() => filled(length, -1));
      await group.allGather(output, filled(length, termOf(turn, group.rank)));
      for (const [from, part] of output.entries()) assertFilled(part, termOf(turn, from), turn);
    },
    async (group, places, turn, length) => {
      const output = filled(length, -1);
      const input = places.map((to) => filled(length, termOf(turn, group.rank, to)));
      await group.reduceScatter(output, input);
      assertFilled(output, sumOf(places.map((from) => termOf(turn, from, group.rank))), turn);
    },
    async (group) => {
      await group.barrier();
    },
    async (group, places, turn, length) => {
      const output = places.map(() => filled(length, -1));
      const input = places.map((to) => filled(length, termOf(turn, group.rank, to)));
      await group.allToAll(output, input);
      for (const [from, part] of output.entries()) assertFilled(part, termOf(turn, from, group.rank), turn);
    },
    async (group, places, turn, length) => {
      const dst = turn % group.size;
      const tensor = filled(length, termOf(turn, group.rank));
      await group.reduce(tensor, { dst });
      const sum = sumOf(places.map((from) => termOf(turn, from)));
      assertFilled(tensor, group.rank === dst ? sum : termOf(turn, group.rank), turn);
    },
  ];

const filled = (length: number, value: number): Float32Array => new Float32Array(length).fill(value);
const sumOf = (numbers: number[]): number => numbers.reduce((sum, one) => sum + one, 0);

function assertFilled(array: Float32Array, value: number, turn: number | string): void {
  const wrong = array.findIndex((element) => element !== value);
  if (wrong >= 0) assert.fail(`operation ${turn}: element ${wrong} is ${array[wrong]}, expected ${value}`);
}

/** Starts `count` operations of a group at once; resolves with their numbers, in the order in which they settled. */
async function issueAtOnce(group: ProcessGroup, count: number): Promise<number[]> {
  const places = Array.from({ length: group.size }, (_, place) => place);
  const settled: number[] = [];
  const turns = Array.from({ length: count }, async (_, turn) => {
    const operate = operations[turn % operations.length];
    await operate(group, places, turn, lengths[turn % lengths.length]);
    settled.push(turn);
  });
  await Promise.all(turns);
  return settled;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/**
 * Starts `count` operations of one group at once. The last rank starts when the store shows that the others have,
 * which requires that their event loops run while their operations wait.
 */
export async function manyOutstanding({
  group,
  rank,
  size,
  store,
  args,
  report,
}: Member<{ count: number }>): Promise<void> {
  const isLast = rank === size - 1;
  const keys = upTo(size - 1).map((other) => `rank ${other} waits`);
  if (isLast) await store.wait(keys);
  const settled = issueAtOnce(group, args.count);
  if (!isLast) await store.set(keys[rank], '');
  assert.deepEqual(await settled, upTo(args.count));
  await callBehindOthers(group);
  await group.destroy();
  await report({ done: true });
}

/** Synchronous operations run after pending ones, even on the same array. */
async function callBehindOthers(group: ProcessGroup): Promise<void> {
  const tensor = filled(300_000, group.rank + 1);
  const sum = (group.size * (group.size + 1)) / 2;
  const underWay = group.allReduce(tensor);
  group.allReduceSync(tensor, { op: 'AVG' });
  assertFilled(tensor, sum, 'on the calling thread');
  await underWay;
}

/**
 * `groups`: the ranks of each group, as newGroup forms them. `count` operations are in progress at once in each group,
 * started in a different order on every rank, while messages with equal tags are in progress.
 */
export async function groupsBesideEachOther({
  rank,
  store,
  args,
  report,
}: Rank<{ groups: number[][]; count: number }>): Promise<void> {
  const groups = [];
  for (const [index, members] of args.groups.entries()) {
    if (!members.includes(rank)) continue;
    const place = { store, rank: members.indexOf(rank), size: members.length };
    groups.push({ index, group: await formGroup(place, `group ${index}`) });
  }
  const inOrder = rank % 2 === 0 ? groups : groups.toReversed();
  const settled = await Promise.all(
    inOrder.flatMap(({ index, group }) => [
      issueAtOnce(group, args.count),
      passMessages(group, index, args.count),
    ]),
  );
  for (const turns of settled) assert.deepEqual(turns, upTo(args.count));
  await Promise.all(groups.map(({ group }) => group.destroy()));
  await report({ groups: groups.length });
}
groupsBesideEachOther.formsGroupItself = true;

/** `count` messages to the next rank of the group, all with one tag. */
async function passMessages(group: ProcessGroup, index: number, count: number): Promise<number[]> {
  const [next, before] = [(group.rank + 1) % group.size, (group.rank + group.size - 1) % group.size];
  const turns = upTo(count);
  const valueOf = (from: number, turn: number) => index * 100_000 + from * 1000 + turn;
  const sending = turns.map((turn) =>
    group.send(Float32Array.of(valueOf(group.rank, turn)), next, { tag: 1 }),
  );
  const settled: number[] = [];
  for (const turn of turns) {
    const received = new Float32Array(1);
    await group.recv(received, { src: before, tag: 1 });
    assert.equal(received[0], valueOf(before, turn));
    settled.push(turn);
  }
  await Promise.all(sending);
  return settled;
}
