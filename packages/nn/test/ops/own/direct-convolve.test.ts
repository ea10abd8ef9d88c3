import { expect, test } from 'vitest';
import type { ConvAttributes } from '../../../src/graph/attributes.ts';
import { Tensor, tensor } from '../../../src/index.ts';
import { directConvolve } from '../../../src/ops/own/direct-convolve.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { expectCloseInBfloat16, trainedInBfloat16By } from '../../support/convolutions.ts';
import { fill } from '../../support/fill.ts';
import '../../support/one-thread.ts';

const padded: ConvAttributes = { strides: [1, 1], pads: [1, 1, 1, 1], dilations: [1, 1], group: 1 };
const strided = { ...padded, strides: [2, 2] };
const trained = trainedInBfloat16By(directConvolve);

test.each<[string, number[], number[], ConvAttributes]>([
  ['3×3', [8, 32, 8, 16], [32, 32, 3, 3], padded],
  ['stride 2', [8, 33, 10, 64], [48, 33, 3, 3], strided],
  ['stride 2, odd sizes, a batch of 33', [9, 5, 7, 33], [17, 5, 3, 3], strided],
  ['stride 2, 1×1', [7, 20, 8, 16], [9, 20, 1, 1], { ...strided, pads: [0, 0, 0, 0] }],
  ['1×1, a batch of 1', [7, 21, 8, 1], [9, 21, 1, 1], { ...padded, pads: [0, 0, 0, 0] }],
  ['stride 2, 7×7', [14, 3, 14, 17], [6, 3, 7, 7], { ...strided, pads: [3, 3, 3, 3] }],
  [
    'strides of 3 and 2, unequal padding',
    [13, 4, 11, 16],
    [5, 4, 4, 2],
    { ...padded, strides: [3, 2], pads: [0, 1, 3, 0] },
  ],
  ['a stride that leaves places out', [10, 4, 11, 16], [5, 4, 2, 2], { ...padded, strides: [4, 3] }],
  ['dilations', [9, 6, 12, 20], [5, 6, 3, 3], { ...padded, dilations: [3, 2], pads: [3, 2, 3, 2] }],
  [
    'stride and dilation',
    [9, 6, 12, 20],
    [5, 6, 3, 3],
    { ...strided, dilations: [3, 2], pads: [3, 2, 3, 2] },
  ],
  ['more padding than taps', [5, 4, 6, 16], [5, 4, 3, 3], { ...padded, pads: [5, 4, 3, 2] }],
])('equals a plain convolution of rounded numbers: %s', async (_, image, weight, window) => {
  const { own, plain } = await bothWays(() => trained(image, weight, window));
  expectCloseInBfloat16(own, plain, 2 ** -8);
});

test.each([padded, strided])('results are bit-identical for any number of threads', async (window) => {
  const compute = () => trained([9, 70, 18, 33], [70, 70, 3, 3], window);
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});

test.each([Infinity, NaN])('%d reaches only the results whose window has it', async (number) => {
  const image = fill([6, 3, 6, 16], 1);
  image[0] = number;
  const w = tensor(fill([2, 3, 3, 3], 2), [2, 3, 3, 3]);
  const x = tensor(image, [6, 3, 6, 16]).bfloat16();
  const y = (await new Tensor(directConvolve(x.value, w.value, padded)).array()) as Float32Array;
  const reached = Array.from(y.keys()).filter((place) => !Number.isFinite(y[place]));
  const expected = [0, 1].flatMap((column) =>
    [0, 1].flatMap((filter) => [0, 1].map((row) => ((column * 2 + filter) * 6 + row) * 16)),
  );
  expect(reached).toEqual(expected);
});
