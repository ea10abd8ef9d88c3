import { expect, test } from 'vitest';
import { alignment, planArena, type Lifetime } from '../../../src/executor/cuda/arena.ts';

/** Lifetimes that follow from a seed, in a program of 40 steps. */
function lifetimesOf(seed: number): Lifetime[] {
  let state = seed;
  const below = (limit: number) => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * limit);
  };
  return Array.from({ length: 60 }, () => {
    const first = below(40);
    return { bytes: below(5000), first, last: Math.min(39, first + below(10)) };
  });
}

const areTogether = (a: Lifetime, b: Lifetime) => a.first <= b.last && b.first <= a.last;

test.each([1, 2, 3, 4, 5])('values that live at the same time do not overlap: seed %d', (seed) => {
  const lifetimes = lifetimesOf(seed);
  const { offsets, bytes } = planArena(lifetimes);
  for (const [i, one] of lifetimes.entries()) {
    expect(offsets[i] % alignment).toBe(0);
    expect(offsets[i] + one.bytes).toBeLessThanOrEqual(bytes);
    for (const [j, other] of lifetimes.entries()) {
      if (i === j || one.bytes === 0 || other.bytes === 0 || !areTogether(one, other)) continue;
      const isApart = offsets[i] + one.bytes <= offsets[j] || offsets[j] + other.bytes <= offsets[i];
      expect(isApart, `${i} and ${j}`).toBe(true);
    }
  }
  const most = Math.max(
    ...Array.from({ length: 40 }, (_, step) =>
      lifetimes
        .filter(({ first, last }) => first <= step && step <= last)
        .reduce((sum, one) => sum + Math.ceil(one.bytes / alignment) * alignment, 0),
    ),
  );
  expect(bytes).toBeGreaterThanOrEqual(most);
  expect(bytes).toBeLessThanOrEqual(1.5 * most);
});

test('a chain of equal values alternates between two places', () => {
  const chain = Array.from({ length: 10 }, (_, step) => ({ bytes: 1000, first: step, last: step + 1 }));
  expect(planArena(chain)).toEqual({ offsets: chain.map((_, i) => (i % 2) * 1024), bytes: 2048 });
});

test('memory that is freed beside free memory becomes one gap', () => {
  const plan = planArena([
    { bytes: 256, first: 0, last: 0 },
    { bytes: 256, first: 0, last: 1 },
    { bytes: 256, first: 0, last: 3 },
    { bytes: 512, first: 2, last: 3 },
  ]);
  expect(plan).toEqual({ offsets: [0, 256, 512, 0], bytes: 768 });
});

test('no values need no memory', () => {
  expect(planArena([])).toEqual({ offsets: [], bytes: 0 });
});
