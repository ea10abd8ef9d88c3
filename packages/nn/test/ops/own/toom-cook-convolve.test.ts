import { describe, expect, test } from 'vitest';
import type { ConvAttributes } from '../../../src/graph/attributes.ts';
import { toomCookConvolve } from '../../../src/ops/own/toom-cook-convolve.ts';
import { Parameter, Tensor, tensor } from '../../../src/index.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { expectCloseInBfloat16, trainedBy, trainedInBfloat16By } from '../../support/convolutions.ts';
import { fill } from '../../support/fill.ts';
import { expectClose } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

const padded: ConvAttributes = { strides: [1, 1], pads: [1, 1, 1, 1], dilations: [1, 1], group: 1 };
const strided = { ...padded, strides: [2, 2] };

const trained = trainedBy(toomCookConvolve);
const trainedInBfloat16 = trainedInBfloat16By(toomCookConvolve);

describe('equals a plain convolution', () => {
  test.each<[string, number[], number[], ConvAttributes]>([
    ['a step of a residual network', [8, 32, 8, 16], [32, 32, 3, 3], padded],
    ['more places than a part has', [5, 7, 18, 64], [5, 7, 3, 3], padded],
    ['parts of 48 places, the last one smaller', [4, 150, 3, 33], [3, 150, 3, 3], padded],
    ['filters in three panels', [6, 8, 5, 17], [33, 8, 3, 5], padded],
    ['few weights, whose gradient needs no panels', [6, 3, 5, 17], [33, 3, 5, 5], padded],
    ['one channel, several parts that are not multiples of 16', [9, 1, 63, 33], [5, 1, 3, 3], padded],
    ['a tile that is not full', [13, 4, 6, 16], [6, 4, 3, 5], { ...padded, pads: [0, 2, 1, 2] }],
    [
      'dilation, and more padding than taps',
      [6, 4, 9, 20],
      [5, 4, 3, 3],
      { ...padded, pads: [7, 1, 3, 1], dilations: [3, 1] },
    ],
    ['stride 2, as in a residual network', [16, 32, 16, 64], [48, 32, 3, 3], strided],
    ['stride 2, few weights', [9, 3, 63, 33], [5, 3, 3, 3], strided],
    ['stride 2, 1×1', [8, 20, 8, 16], [9, 20, 1, 1], { ...strided, pads: [0, 0, 0, 0] }],
    ['stride 2, 1×1, of an odd size', [7, 5, 9, 17], [9, 5, 1, 1], { ...strided, pads: [0, 0, 0, 0] }],
    ['stride 2, odd sizes', [9, 5, 7, 19], [17, 5, 3, 3], strided],
    ['stride 2 that leaves a rest', [8, 5, 8, 16], [6, 5, 3, 3], { ...strided, pads: [0, 0, 0, 0] }],
    ['stride 2 of images of 1×1', [1, 6, 1, 16], [6, 6, 3, 3], strided],
    ['stride 2 of images of 2×1', [2, 6, 1, 16], [6, 6, 3, 3], strided],
    ['stride 2 of a batch of 1', [6, 6, 5, 1], [6, 6, 3, 3], strided],
    ['stride 2 along the height', [14, 6, 9, 33], [6, 6, 3, 3], { ...strided, strides: [2, 1] }],
    ['stride 2 along the width', [14, 6, 9, 33], [6, 6, 3, 3], { ...strided, strides: [1, 2] }],
    [
      'stride 2 along the width, dilation along the height',
      [14, 6, 9, 20],
      [6, 6, 3, 3],
      { ...strided, strides: [1, 2], dilations: [2, 1], pads: [2, 1, 2, 1] },
    ],
    ['stride 2, 7×7', [14, 3, 14, 16], [6, 3, 7, 7], { ...strided, pads: [3, 3, 3, 3] }],
    ['stride 2, 4×2, unequal padding', [11, 3, 12, 16], [6, 3, 4, 2], { ...strided, pads: [0, 1, 3, 0] }],
    [
      'strides of 3 and 2',
      [13, 4, 11, 16],
      [5, 4, 5, 5],
      { ...strided, strides: [3, 2], pads: [2, 2, 2, 2] },
    ],
    [
      'a stride that leaves columns and rows out',
      [10, 4, 11, 16],
      [5, 4, 2, 2],
      { ...strided, strides: [4, 3] },
    ],
    ['stride 2 in more parts than one', [8, 150, 24, 33], [33, 150, 3, 3], strided],
  ])('%s', async (_, image, weight, window) => {
    const { own, plain } = await bothWays(() => trained(image, weight, window));
    for (const [k, name] of ['y', 'gradient of the image', 'gradient of the weight'].entries()) {
      expectClose(name, own[k], [...plain[k]], 1e-5);
    }
  });
});

test.each<[string, number[], number[], ConvAttributes]>([
  ['a batch that fills panels', [7, 20, 9, 16], [18, 20, 3, 3], padded],
  ['a batch of 33', [7, 20, 9, 33], [18, 20, 3, 3], padded],
  ['few weights', [9, 3, 7, 17], [6, 3, 5, 5], { ...padded, pads: [2, 2, 2, 2] }],
  ['stride 2', [9, 12, 7, 19], [17, 12, 3, 3], strided],
  ['rows that no tap reaches', [10, 4, 11, 16], [5, 4, 2, 2], { ...strided, strides: [4, 3] }],
])('reads and writes bfloat16: %s', async (_, image, weight, window) => {
  const { own, plain } = await bothWays(() => trainedInBfloat16(image, weight, window));
  expectCloseInBfloat16(own, plain);
});

test.each<[string, number, ConvAttributes]>([
  ['without a stride', 12, padded],
  ['few weights', 3, padded],
  ['stride 2', 12, strided],
  ['stride 2, few weights', 3, strided],
])('results are bit-identical for any number of threads: %s', async (_, channels, window) => {
  const compute = () => trained([9, channels, 18, 64], [20, channels, 3, 3], window);
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});

test('columns and rows that a stride leaves out have no gradient', async () => {
  const x = new Parameter(fill([8, 5, 8, 16], 1), [8, 5, 8, 16]);
  const w = tensor(fill([6, 5, 1, 1], 2), [6, 5, 1, 1]);
  const window = { ...strided, pads: [0, 0, 0, 0] };
  await new Tensor(toomCookConvolve(x.value, w.value, window)).sum().backward();
  const isRead = (place: number) => Math.floor(place / 640) % 2 === 0 && Math.floor(place / 16) % 2 === 0;
  expect(x.grad!.every((slope, place) => (slope !== 0) === isRead(place))).toBe(true);
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
