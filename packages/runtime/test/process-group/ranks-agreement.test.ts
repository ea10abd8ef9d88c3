import { HashStore } from '@ringrun/collectives';
import { InvalidArgumentError, StoreTimeoutError } from '@ringrun/core';
import { expect, test } from 'vitest';
import { agreeOnRanks } from '../../src/process-group/ranks-agreement.ts';
import { PrefixStore } from '../../../rendezvous/src/store/prefix-store.ts';

/** The result of each rank: undefined or an error. `said[rank]`: the ranks that it passes. */
function outcomes(said: readonly (readonly number[])[], worldSize = said.length, timeoutMs = 5000) {
  const store = new PrefixStore('group/2', new HashStore());
  return Promise.all(
    said.map((ranks, rank) =>
      agreeOnRanks(store, { rank, worldSize, number: 2, ranks }, timeoutMs).catch((error: unknown) => error),
    ),
  );
}

test('resolves if all ranks pass the same list, including ranks outside the group', async () => {
  const ranks = [0, 2];
  expect(await outcomes([ranks, ranks, ranks])).toEqual([undefined, undefined, undefined]);
});

test('no rank continues before every rank has called it', async () => {
  const store = new HashStore();
  const order: string[] = [];
  const call = async (rank: number) => {
    await agreeOnRanks(store, { rank, worldSize: 2, number: 1, ranks: [0] }, 5000);
    order.push(`rank ${rank} continues`);
  };
  const first = call(0);
  await store.wait(['member/0']);
  order.push('rank 1 calls');
  await Promise.all([first, call(1)]);
  expect(order[0]).toBe('rank 1 calls');
  expect(order.slice(1).sort()).toEqual(['rank 0 continues', 'rank 1 continues']);
});

test('a disagreement is thrown on every rank, with both lists', async () => {
  const errors = await outcomes([
    [0, 1],
    [0, 1],
    [1, 2],
  ]);
  for (const error of errors) {
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toMatch(
      /^Call 2 of newGroup failed: expected the same ranks .*, got ranks 0-1 on rank 0 and ranks 1-2 on rank 2\./,
    );
  }
});

test('names the ranks that never call it', async () => {
  const [zero, one] = await outcomes([[0], [0]], 4, 100);
  for (const error of [zero, one]) {
    expect(error).toBeInstanceOf(StoreTimeoutError);
    expect((error as StoreTimeoutError).missingKeys).toEqual(['member/2', 'member/3']);
  }
  expect((one as Error).message).toMatch(
    /^Rank 1 of 4 waited .* in call 2 of newGroup for ranks 2-3 to join\./,
  );
});
