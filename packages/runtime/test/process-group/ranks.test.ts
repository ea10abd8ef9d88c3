import { InvalidArgumentError } from '@ringrun/core';
import { expect, test } from 'vitest';
import { checkedRanks, globalRankAmong, groupRankAmong } from '../../src/process-group/ranks.ts';

test('ranks of a group are sorted, default: all', () => {
  const given = [3, 0, 2];
  expect(checkedRanks(given, 4)).toEqual([0, 2, 3]);
  expect(given).toEqual([3, 0, 2]);
  expect(checkedRanks(undefined, 3)).toEqual([0, 1, 2]);
});

test.each<[unknown, RegExp]>([
  [[], /ranks are \[\], expected a list of one or more ranks of the default group: integers from 0 to 3/],
  [[0, 4], /ranks are \[0, 4\], expected/],
  [[-1], /ranks are \[-1\]/],
  [[0.5], /ranks are \[0\.5\]/],
  [['1'], /ranks are \[1\]/],
  [[1, 0, 1], /ranks are \[1, 0, 1\], expected each rank once, got 1 twice/],
  [2, /ranks are 2, expected a list/],
])('refuses %j', (ranks, message) => {
  const call = () => checkedRanks(ranks as number[], 4);
  expect(call).toThrow(InvalidArgumentError);
  expect(call).toThrow(message);
});

test('converts between ranks of the group and of the default group', () => {
  const ranks = [1, 4, 6];
  expect(ranks.map((rank) => groupRankAmong(ranks, rank, 'src'))).toEqual([0, 1, 2]);
  expect([0, 1, 2].map((rank) => globalRankAmong(ranks, rank))).toEqual(ranks);
  expect(() => groupRankAmong(ranks, 0, 'src')).toThrow(
    /^src is 0, expected a rank of the default group that is in this group: ranks 1, 4 and 6\.$/,
  );
  expect(() => globalRankAmong(ranks, 3)).toThrow(/^groupRank is 3, expected .* from 0 to 2/);
  expect(() => globalRankAmong(ranks, -1)).toThrow(InvalidArgumentError);
});
