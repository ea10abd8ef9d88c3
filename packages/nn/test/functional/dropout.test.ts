import { describe, expect, test } from 'vitest';
import { F, manualSeed, Parameter, tensor } from '../../src/index.ts';
import { philox } from '../../src/random/philox.ts';
import { bothWays, onThreads } from '../support/both-ways.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

/** Two dropouts of x in turn, and the gradient of the first. */
async function dropped(x: Float32Array, p = 0.5): Promise<Float32Array[]> {
  manualSeed(3);
  const input = new Parameter(x.slice(), [x.length]);
  const [first, second] = [F.dropout(input, p), F.dropout(input, p)];
  await first
    .mul(tensor(fill(first.shape, 2), first.shape))
    .sum()
    .backward();
  return [(await first.array()) as Float32Array, (await second.array()) as Float32Array, input.grad!.slice()];
}

/** The known answers of Random123, the library of Philox's authors. */
test.each([
  [
    [0, 0, 0, 0],
    [0, 0],
    [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
  ],
  [
    [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
    [0xffffffff, 0xffffffff],
    [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
  ],
  [
    [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
    [0xa4093822, 0x299f31d0],
    [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
  ],
])('philox of %o with key %o', (counter, key, words) => {
  expect(philox(counter, key)).toEqual(words);
});

describe('the addon’s operator is bit-identical to plain operators', () => {
  test.each([1, 15, 63, 64, 65, 255, 256, 257, 1023, 8192, 8193, 20_000])('%i elements', async (count) => {
    for (const p of [0.5, 0.1, 0.999]) {
      const { own, plain } = await bothWays(() => dropped(fill([count], 1), p));
      expect(own).toEqual(plain);
    }
  });

  test('NaN and infinities', async () => {
    const x = fill([40], 1).map((one, k) => [NaN, Infinity, -Infinity, one][k % 4]);
    const { own, plain } = await bothWays(() => dropped(x));
    expect(own).toEqual(plain);
  });

  test('an empty array', async () => {
    expect(await F.dropout(tensor(new Float32Array(0), [0, 3])).array()).toEqual(new Float32Array(0));
  });
});

test('masks of two calls differ, and the gradient uses the mask of its call', async () => {
  const [first, second, gradient] = await dropped(new Float32Array(500).fill(1));
  expect(first).not.toEqual(second);
  expect(gradient).toEqual(fill([500], 2).map((factor, k) => factor * first[k]));
});

test('neighbours, and consecutive calls, are dropped independently', async () => {
  const [first, second] = await dropped(new Float32Array(100_000).fill(1), 0.3);
  const bothKept = (offset: number, other: Float32Array) =>
    first.reduce((count, one, k) => count + Number(one > 0 && other[(k + offset) % other.length] > 0), 0);
  // Five standard deviations of a binomial distribution with 0.7²: √(100,000·0.49·0.51) = 158.
  for (const offset of [1, 16, 64, 256]) expect(Math.abs(bothKept(offset, first) - 49_000)).toBeLessThan(790);
  expect(Math.abs(bothKept(0, second) - 49_000)).toBeLessThan(790);
});

test('the mask is the same for any number of threads', async () => {
  const compute = () => dropped(fill([30_000], 1), 0.2);
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});
