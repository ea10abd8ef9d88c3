import { expect, test } from 'vitest';
import { cat, F, ones, Parameter, tensor, type Tensor } from '../../src/index.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

// Unusual shapes that torch accepts; the numbers are torch's.

const floats = (...values: number[]) => Float32Array.from(values);
const x = (shape: readonly number[], ...values: number[]) => tensor(floats(...values), shape);

const cases: Readonly<Record<string, readonly [result: () => Tensor, shape: number[], values: number[]]>> = {
  'gaussianNllLoss: a variance of each row': [
    () =>
      F.gaussianNllLoss(x([2, 2], 1, 2, 3, 5), x([2, 2], 0, 2, 1, 1), x([2], 1, 4), { reduction: 'none' }),
    [2, 2],
    [0.5, 0, 1.1931471824645996, 2.6931471824645996],
  ],
  'hingeEmbeddingLoss: targets other than ±1 have both parts': [
    () => F.hingeEmbeddingLoss(x([3], 2, -1, 0.5), x([3], 1, -1, 0), { reduction: 'none' }),
    [3],
    [2, 2, 1],
  ],
  'marginRankingLoss: shapes broadcast': [
    () => F.marginRankingLoss(x([1, 2], 1, 2), x([2, 1], 3, 0), tensor([1n], [1, 1]), { reduction: 'none' }),
    [2, 2],
    [2, 1, 0, 0],
  ],
  'pad, circular: elements are removed before others are repeated': [
    () => F.pad(x([1, 1, 6], 0, 1, 2, 3, 4, 5), [-1, 2], { mode: 'circular' }),
    [1, 1, 7],
    [1, 2, 3, 4, 5, 1, 2],
  ],
  'pad, circular: elements are also removed from the end': [
    () => F.pad(x([1, 1, 6], 0, 1, 2, 3, 4, 5), [2, -2], { mode: 'circular' }),
    [1, 1, 6],
    [2, 3, 0, 1, 2, 3],
  ],
  'pixelShuffle: no channels': [() => F.pixelShuffle(x([1, 0, 1, 1]), 2), [1, 0, 2, 2], []],
  'pixelShuffle: no rows': [() => F.pixelShuffle(x([2, 3, 4, 0, 3]), 2), [2, 3, 1, 0, 6], []],
  'pixelShuffle: no images': [() => F.pixelShuffle(x([0, 4, 1, 1]), 2), [0, 1, 2, 2], []],
  'pixelUnshuffle: no channels': [() => F.pixelUnshuffle(x([1, 0, 2, 2]), 2), [1, 0, 1, 1], []],
  'pixelUnshuffle: no columns': [() => F.pixelUnshuffle(x([1, 1, 2, 0]), 2), [1, 4, 1, 0], []],
  'channelShuffle: no channels': [() => F.channelShuffle(x([1, 0, 2, 2]), 2), [1, 0, 2, 2], []],
  'adaptiveAvgPool2d: no channels': [() => F.adaptiveAvgPool2d(x([2, 0, 4, 4]), 2), [2, 0, 2, 2], []],
  'groupNorm: no samples': [() => F.groupNorm(x([0, 4, 3]), 2), [0, 4, 3], []],
  'nllLoss of one sample': [() => F.nllLoss(x([3], -1, -2, -3), tensor([1n], [])), [], [2]],
  'crossEntropy of one sample': [
    () => F.crossEntropy(x([3], 1, 2, 3), tensor([1n], []), { reduction: 'none' }),
    [],
    [1.4076058864593506],
  ],
  'crossEntropy of the probabilities of one sample': [
    () => F.crossEntropy(x([3], 1, 2, 3), x([3], 0.2, 0.3, 0.5)),
    [],
    [1.1076059341430664],
  ],
  'linear: a weight of one output feature': [
    () => F.linear(x([2, 2], 1, 2, 3, 4), x([2], 5, 6)),
    [2],
    [17, 39],
  ],
  'scatterAdd: an index that is shorter than the tensor and the source': [
    () =>
      x([3, 3], 0, 0, 0, 0, 0, 0, 0, 0, 0).scatterAdd(
        1,
        tensor([0n, 0n, 2n, 1n], [2, 2]),
        x([2, 3], 1, 2, 9, 3, 4, 9),
      ),
    [3, 3],
    [3, 0, 0, 0, 4, 3, 0, 0, 0],
  ],
  'scatter: an index that is shorter than the source': [
    () => x([3, 2], 0, 0, 0, 0, 0, 0).scatter(0, tensor([2n, 1n], [1, 2]), x([2, 2], 5, 6, 7, 8)),
    [3, 2],
    [0, 0, 0, 6, 5, 0],
  ],
  'prelu of a number': [() => F.prelu(x([], -2), x([1], 0.25)), [], [-0.5]],
  'cat: a tensor [0] joins any other': [
    () => cat([x([0]), x([1, 2], 1, 2), x([1, 2], 3, 4)], 0),
    [2, 2],
    [1, 2, 3, 4],
  ],
  'avgPool2d: a list of one number is for all axes': [
    () => F.avgPool2d(x([1, 1, 3, 3], 0, 1, 2, 3, 4, 5, 6, 7, 8), [2] as never, { stride: [1] as never }),
    [1, 1, 2, 2],
    [2, 3, 5, 6],
  ],
  'addmm: with beta 0, infinities are ignored': [
    () => x([1, 1], Infinity).addmm(x([1, 1], 2), x([1, 1], 3), { beta: 0 }),
    [1, 1],
    [6],
  ],
};

test.each(Object.entries(cases))('%s', async (_, [call, shape, values]) => {
  const result = call();
  expect(result.shape).toEqual(shape);
  expectClose('elements', await result.array(), values, 1e-6);
});

test('prelu: infinities above 0 are not in the gradient of the slope', async () => {
  const slope = new Parameter(floats(0.5), [1]);
  await F.prelu(x([2], Infinity, -3), slope)
    .sum()
    .backward();
  expect(slope.grad).toEqual(floats(-3));
});

test.each<readonly [string, () => unknown, string]>([
  ['prelu', () => F.prelu(ones([2, 3]), ones([2])), 'expected one slope or 3'],
  ['diff', () => ones([3]).diff(-1), 'n must be at least 0, got -1'],
  ['isclose', () => ones([3]).isclose(ones([3]), -1), 'at least 0, got -1 and 1e-8'],
  ['gaussianNllLoss', () => F.gaussianNllLoss(ones([2]), ones([2]), x([2], 1, -1)), 'at least 0, got -1'],
  ['gaussianNllLoss', () => F.gaussianNllLoss(ones([2, 3]), ones([2, 3]), ones([3])), 'float32[3]'],
  ['scatter', () => ones([3]).scatter(0, tensor([0n, 1n]), ones([1])), 'at least as long as the index'],
  ['cat', () => cat(ones([2]) as never), 'expected a list of tensors'],
  [
    'crossEntropy',
    () => F.crossEntropy(ones([2, 3]), ones([2, 3]), { ignoreIndex: 1 }),
    'no ignoreIndex for probabilities',
  ],
])('%s: a call that torch rejects is an error', (_, call, message) => {
  expect(call).toThrow(message);
});
