import { expect, test } from 'vitest';
import { cdist, F, Parameter, tensor, type Tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

// Gradients that torch defines separately from the computation of the value: at NaN, infinities and 0/0. The numbers are torch's.

const nan = NaN;
const inf = Infinity;
const none = { reduction: 'none' } as const;
const floats = (...numbers: number[]) => tensor(Float32Array.from(numbers));
const clamped = (x: Tensor, least: Tensor, most: Tensor) => x.clamp(least, most);
const tight = (numbers: ArrayLike<number | bigint>) => Array.from(numbers, (one) => Number(one) + 0);

interface Case {
  readonly of: (...inputs: Tensor[]) => Tensor;
  readonly inputs: readonly (readonly number[])[];
  readonly output: readonly number[];
  readonly gradients: readonly (readonly number[])[];
}

const cases: Readonly<Record<string, Case>> = {
  'lerp with an infinite weight': {
    of: (x, y, weight) => x.lerp(y, weight),
    inputs: [
      [1, 1],
      [2, 3],
      [inf, -inf],
    ],
    output: [inf, -inf],
    gradients: [
      [-inf, inf],
      [inf, -inf],
      [1, 2],
    ],
  },
  'logsumexp of equal numbers that outweigh log 2': {
    of: (x) => x.logsumexp(),
    inputs: [[1e18, 1e18]],
    output: [1e18],
    gradients: [[1, 1]],
  },
  'nanmean of NaN alone': {
    of: (x) => x.nanmean(),
    inputs: [[nan, nan]],
    output: [nan],
    gradients: [[nan, nan]],
  },
  'xlogy at (0, 0), (0, ∞) and (0, NaN)': {
    of: (x, y) => x.xlogy(y),
    inputs: [
      [0, 0, 0, 1],
      [0, inf, nan, 0],
    ],
    output: [0, 0, nan, -inf],
    gradients: [
      [0, inf, nan, -inf],
      [nan, 0, nan, inf],
    ],
  },
  'a norm below 1 with 0 and NaN': {
    of: (x) => x.norm(0.5),
    inputs: [[0, nan]],
    output: [nan],
    gradients: [[nan, nan]],
  },
  'a norm below 1 with 0 alone': {
    of: (x) => x.norm(0.5),
    inputs: [[0, 4]],
    output: [4],
    gradients: [[0, 1]],
  },
  'the largest norm with NaN': {
    of: (x) => x.norm(inf),
    inputs: [[1, nan, -2]],
    output: [nan],
    gradients: [[0, 0, 0]],
  },
  'the smallest norm with NaN': {
    of: (x) => x.norm(-inf),
    inputs: [[1, nan, -2]],
    output: [nan],
    gradients: [[0, 0, 0]],
  },
  'cdist of p = 1 at NaN': {
    of: (a, b) => cdist(a.view(1, 3), b.view(1, 3), 1),
    inputs: [
      [nan, 1, 2],
      [0, 1, 3],
    ],
    output: [nan],
    gradients: [
      [nan, 0, -1],
      [nan, 0, 1],
    ],
  },
  'clamp with a limit of NaN': {
    of: clamped,
    inputs: [
      [0.5, 5, 0.5, 9],
      [nan, nan, 2, 2],
      [2, 2, nan, nan],
    ],
    output: [nan, nan, nan, nan],
    gradients: [
      [1, 0, 0, 1],
      [0, 0, 0, 0],
      [0, 0, 0, 0],
    ],
  },
  'clamp of NaN with limits in the wrong order': {
    of: clamped,
    inputs: [[nan], [5], [2]],
    output: [nan],
    gradients: [[1], [0], [1]],
  },
  'marginRankingLoss at NaN': {
    of: (a, b) => F.marginRankingLoss(a, b, floats(1, 1), none),
    inputs: [
      [nan, 1],
      [1, 2],
    ],
    output: [nan, 1],
    gradients: [
      [0, -1],
      [0, 1],
    ],
  },
  'cosineEmbeddingLoss of another target': {
    of: (a, b) => F.cosineEmbeddingLoss(a.view(1, 2), b.view(1, 2), floats(0.5), none),
    inputs: [
      [nan, 2],
      [2, 1],
    ],
    output: [0],
    gradients: [
      [nan, nan],
      [nan, nan],
    ],
  },
  'cosineSimilarity at infinity': {
    of: (a, b) => F.cosineSimilarity(a.view(1, 2), b.view(1, 2)),
    inputs: [
      [inf, 1],
      [1, 2],
    ],
    output: [nan],
    gradients: [
      [nan, nan],
      [nan, nan],
    ],
  },
  'tripletMarginLoss at NaN': {
    of: (a, b) => {
      const [anchor, positive] = [a.view(1, 1), b.view(1, 1)];
      return F.tripletMarginLoss(anchor, positive, floats(nan).view(1, 1), { p: 1, eps: 0, ...none });
    },
    inputs: [[3], [1]],
    output: [nan],
    gradients: [[0], [0]],
  },
};

test.each(Object.entries(cases))('%s', async (_, { of, inputs, output, gradients }) => {
  const given = inputs.map((numbers) => new Parameter(Float32Array.from(numbers), [numbers.length]));
  const result = of(...given);
  expect(tight(await result.array())).toEqual(tight(Float32Array.from(output)));
  await result.sum().backward();
  const found = given.map(({ grad }, at) => tight(grad ?? new Float32Array(inputs[at].length)));
  expect(found).toEqual(gradients.map((one) => tight(Float32Array.from(one))));
});

test('isclose of int64 does not overflow', async () => {
  const largest = tensor(BigInt64Array.of(2n ** 63n - 1n, 2n ** 63n - 1n));
  const others = tensor(BigInt64Array.of(-1n, 2n ** 63n - 2n));
  expect(Array.from(await largest.isclose(others).array(), Number)).toEqual([0, 1]);
});
