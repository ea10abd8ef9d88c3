import { expect, test } from 'vitest';

import { linksFromTable } from '../../src/links/measured-links.ts';

const table = (...matrices: number[][][]) => new Float64Array(matrices.flat(2));

test('measured numbers are kept with three digits, of two rates the larger; the capacity is what all links had at once', () => {
  const delay = [
    [0, 0.012345],
    [0.012345, 0],
  ];
  const alone = [
    [0, 123_456],
    [50_000, 0],
  ];
  const shared = [
    [0, 100_000],
    [77_777, 0],
  ];
  expect(linksFromTable(['a', 'b'], table(delay, alone, shared))).toEqual({
    hosts: ['a', 'b'],
    delay: [
      [0, 0.0123],
      [0.0123, 0],
    ],
    bandwidth: [
      [0, 123_000],
      [77_800, 0],
    ],
    capacity: [123_000, 77_800],
  });
});

test('a pair that was not measured is as far and as slow as the way over a third host', () => {
  // a and b are near each other; c is far from b, and its link to b is slow. a and c were not measured.
  const delay = [
    [0, 0.001, 0],
    [0.001, 0, 0.05],
    [0, 0.05, 0],
  ];
  const alone = [
    [0, 1000, 0],
    [1000, 0, 10],
    [0, 10, 0],
  ];
  const links = linksFromTable(['a', 'b', 'c'], table(delay, alone, alone));
  expect(links.delay[0][2]).toBe(0.05);
  expect(links.bandwidth[0][2]).toBe(10);
  expect(links.bandwidth[2][0]).toBe(10);
  expect(links.capacity).toEqual([1000, 1010, 10]);
});
