import { describe, expect, test } from 'vitest';
import type { ConvAttributes } from '../src/graph/operators.ts';
import { toomCookConvolve } from '../src/ops/own/toom-cook-convolve.ts';
import { Parameter, Tensor, tensor } from '../src/index.ts';
import { bothWays, onThreads } from './both-ways.ts';
import { fill } from './fill.ts';
import { expectClose } from './numeric.ts';
import './one-thread.ts';

const padded: ConvAttributes = { strides: [1, 1], pads: [1, 1, 1, 1], dilations: [1, 1], group: 1 };

/** The results, and the gradients of image and weight. */
async function trained(
  image: readonly number[],
  weight: readonly number[],
  window: ConvAttributes,
): Promise<Float32Array[]> {
  const [x, w] = [image, weight].map((shape, seed) => new Parameter(fill(shape, seed), shape));
  const y = new Tensor(toomCookConvolve(x.value, w.value, window));
  const values = (await y.array()) as Float32Array;
  await y
    .mul(tensor(fill(y.shape, 2), y.shape))
    .sum()
    .backward();
  return [values, x.grad!.slice(), w.grad!.slice()];
}

describe('equals a plain convolution', () => {
  test.each<[string, number[], number[], ConvAttributes]>([
    ['a step of a residual network', [8, 32, 8, 16], [32, 32, 3, 3], padded],
    ['more places than a part has', [5, 7, 18, 64], [5, 7, 3, 3], padded],
    ['parts of 48 places, the last one smaller', [4, 150, 3, 33], [3, 150, 3, 3], padded],
    ['filters in three panels', [6, 8, 5, 17], [33, 8, 3, 5], padded],
    ['few weights, whose gradient needs no panels', [6, 3, 5, 17], [33, 3, 5, 5], padded],
    ['one channel, several parts that are no multiple of 16', [9, 1, 63, 33], [5, 1, 3, 3], padded],
    ['a tile that is not full', [13, 4, 6, 16], [6, 4, 3, 5], { ...padded, pads: [0, 2, 1, 2] }],
    [
      'dilation, and more padding than taps',
      [6, 4, 9, 20],
      [5, 4, 3, 3],
      { ...padded, pads: [7, 1, 3, 1], dilations: [3, 1] },
    ],
  ])('%s', async (_, image, weight, window) => {
    const { own, plain } = await bothWays(() => trained(image, weight, window));
    for (const [k, name] of ['y', 'gradient of the image', 'gradient of the weight'].entries()) {
      expectClose(name, own[k], [...plain[k]], 1e-5);
    }
  });
});

test.each([12, 3])('the number of threads does not change bits (%i channels)', async (channels) => {
  const compute = () => trained([9, channels, 18, 64], [20, channels, 3, 3], padded);
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});

test('an infinite number reaches only the results of its tiles', async () => {
  const image = fill([16, 3, 4, 16], 1);
  image[0] = Infinity;
  const x = tensor(image, [16, 3, 4, 16]);
  const w = tensor(fill([2, 3, 3, 3], 2), [2, 3, 3, 3]);
  const y = (await new Tensor(toomCookConvolve(x.value, w.value, padded)).array()) as Float32Array;
  const perColumn = y.length / 16;
  expect(y.subarray(0, perColumn).some((value) => !Number.isFinite(value))).toBe(true);
  expect(y.subarray(8 * perColumn).every((value) => Number.isFinite(value))).toBe(true);
});
