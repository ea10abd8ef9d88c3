import { expect, test } from 'vitest';
import type { ConvAttributes } from '../../../src/graph/attributes.ts';
import { Tensor, tensor } from '../../../src/index.ts';
import { toomCookConvolve2d } from '../../../src/ops/own/toom-cook-convolve-2d.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { expectCloseInBfloat16, trainedBy, trainedInBfloat16By } from '../../support/convolutions.ts';
import { fill } from '../../support/fill.ts';
import { expectClose } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

const padded: ConvAttributes = { strides: [1, 1], pads: [1, 1, 1, 1], dilations: [1, 1], group: 1 };
const trained = trainedBy(toomCookConvolve2d);
const trainedInBfloat16 = trainedInBfloat16By(toomCookConvolve2d);

test.each<[string, number[], number[], ConvAttributes]>([
  ['a step of a residual network', [8, 32, 8, 16], [32, 32, 3, 3], padded],
  ['more panels than a part has', [5, 7, 18, 64], [5, 7, 3, 3], padded],
  ['a batch of 1', [5, 6, 6, 1], [4, 6, 3, 3], padded],
  ['a batch of one panel and one image', [6, 5, 7, 17], [33, 5, 3, 3], padded],
  ['a batch of 33, tiles that are not full', [7, 19, 9, 33], [18, 19, 3, 3], padded],
  ['images of 1×1', [1, 6, 1, 16], [6, 6, 3, 3], padded],
  ['images of 2×1', [2, 6, 1, 16], [6, 6, 3, 3], padded],
  ['more channels and filters than blocks have', [4, 70, 5, 20], [70, 70, 3, 3], padded],
  ['no padding', [9, 4, 8, 16], [6, 4, 3, 3], { ...padded, pads: [0, 0, 0, 0] }],
  ['unequal padding', [9, 4, 8, 16], [6, 4, 3, 5], { ...padded, pads: [0, 2, 2, 1] }],
  ['5×5', [10, 4, 9, 16], [6, 4, 5, 5], { ...padded, pads: [2, 2, 2, 2] }],
  ['2×6', [11, 3, 9, 16], [6, 3, 2, 6], { ...padded, pads: [1, 3, 0, 2] }],
  ['a kernel of height 1', [9, 3, 9, 16], [6, 3, 1, 3], { ...padded, pads: [0, 1, 0, 1] }],
])('equals a plain convolution: %s', async (_, image, weight, window) => {
  const { own, plain } = await bothWays(() => trained(image, weight, window));
  for (const [k, name] of ['y', 'gradient of the image', 'gradient of the weight'].entries()) {
    expectClose(name, own[k], [...plain[k]], 1e-5);
  }
});

test.each([16, 33])('reads and writes bfloat16: a batch of %d', async (batch) => {
  const compute = () => trainedInBfloat16([7, 20, 9, batch], [18, 20, 3, 3], padded);
  const { own, plain } = await bothWays(compute);
  expectCloseInBfloat16(own, plain);
});

test.each([16, 33])('results are bit-identical for any number of threads: a batch of %d', async (batch) => {
  const compute = () => trained([9, 40, 18, batch], [70, 40, 3, 3], padded);
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});

test.each([Infinity, NaN])('%d reaches only the results of its tiles', async (number) => {
  const image = fill([16, 3, 16, 16], 1);
  image[0] = number;
  const w = tensor(fill([2, 3, 3, 3], 2), [2, 3, 3, 3]);
  const x = tensor(image, [16, 3, 16, 16]);
  const y = (await new Tensor(toomCookConvolve2d(x.value, w.value, padded)).array()) as Float32Array;
  const reached = Array.from(y.keys()).filter((place) => !Number.isFinite(y[place]));
  expect(reached).toContain(0);
  const [rows, batch] = [16, 16];
  const isNear = (place: number) =>
    place % batch === 0 && Math.floor(place / batch) % rows < 8 && place < 8 * 2 * rows * batch;
  expect(reached.filter((place) => !isNear(place))).toEqual([]);
});
