import { describe, expect, test } from 'vitest';
import { fuseBatchNormalization } from '../../../src/executor/cpu/rewrites/fuse-batch-normalization.ts';
import type { Value } from '../../../src/graph/node.ts';
import { topologicalOrder } from '../../../src/graph/topology.ts';
import { batchNormalize } from '../../../src/ops/batch-normalization.ts';
import { add, mul, neg, relu } from '../../../src/ops/elementwise.ts';
import { reshape } from '../../../src/ops/shape.ts';
import { input } from '../../../src/ops/source.ts';
import { F, nn, Parameter, tensor, type Tensor } from '../../../src/index.ts';
import { bothWays, onThreads, worstUlps } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import { expectClose, largest } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

type Ending = (normalized: Tensor, residual: Tensor) => Tensor;

const endings: Record<string, Ending> = {
  alone: (normalized) => normalized,
  relu: (normalized) => normalized.relu(),
  residual: (normalized, residual) => residual.add(normalized),
  'residual and relu': (normalized, residual) => normalized.add(residual).relu(),
  'relu with two readers': (normalized, residual) => {
    const y = normalized.add(residual).relu();
    return y.mul(y).add(y.neg());
  },
};

const names = ['dx', 'dWeight', 'dBias', 'dResidual', 'running mean', 'running variance'];

/** The gradients and the running statistics of a normalization of images [N, C, …]. */
async function trained(x: Float32Array, shape: readonly number[], end: Ending): Promise<Float32Array[]> {
  const images = new Parameter(x.slice(), shape);
  const norm = new nn.BatchNorm2d(shape[1]);
  norm.weight!.data.set(fill([shape[1]], 6));
  norm.bias!.data.set(fill([shape[1]], 7));
  // Not 0, where the slope of relu changes.
  const residual = new Parameter(
    fill(shape, 9).map((value) => value + 0.01),
    shape,
  );
  const factors = tensor(fill(shape, 8), shape);
  const y = end(norm.forward(images), residual);
  await y.mul(factors).sum().backward();
  const gradients = [images, norm.weight!, norm.bias!, residual].map(
    ({ grad }) => grad?.slice() ?? new Float32Array(0),
  );
  return [...gradients, norm.runningMean!.data.slice(), norm.runningVar!.data.slice()];
}

/** Around the widths of vectors, runs that share a block of sums, and ones that need several. */
const shapes = [
  [3, 2, 4, 4],
  [33, 3, 1, 17],
  [5, 3, 3, 11],
  [70, 2, 4, 8],
  [2, 3, 31, 33],
  [3, 1, 32, 64],
  [2, 2, 49, 61],
];

describe.each(Object.entries(endings))('equals plain operators: %s', (_, end) => {
  test.each(shapes)('[%i, %i, %i, %i]', async (...shape) => {
    const x = fill(shape, 3).map((one) => 3 * one + 0.5);
    const { own, plain } = await bothWays(() => trained(x, shape, end));
    for (const [k, name] of names.entries()) {
      expectClose(name, own[k], [...plain[k]], 1e-5, Math.max(1, largest([...plain[k]])));
    }
  });
});

test('a batch innermost equals plain operators', async () => {
  const shape = [16, 3, 9, 7];
  const compute = async () => {
    const x = tensor(fill(shape, 1), shape);
    const [first, second] = [3, 4].map((seed) => new Parameter(fill([3, 3, 3, 3], seed), [3, 3, 3, 3]));
    const [before, after] = [new nn.BatchNorm2d(3), new nn.BatchNorm2d(3)];
    const hidden = before.forward(F.conv2d(x, first, undefined, { padding: 1 })).relu();
    const y = after
      .forward(F.conv2d(hidden, second, undefined, { padding: 1 }))
      .add(hidden)
      .relu();
    await y
      .mul(tensor(fill(shape, 5), shape))
      .sum()
      .backward();
    const parameters = [first, second, before.weight!, before.bias!, after.weight!, after.bias!];
    return [...parameters.map(({ grad }) => grad!.slice()), before.runningVar!.data.slice()];
  };
  const { own, plain } = await bothWays(compute);
  for (const [k, numbers] of own.entries()) {
    expectClose(`array ${k}`, numbers, [...plain[k]], 1e-4, Math.max(1, largest([...plain[k]])));
  }
});

test('gradients of weight and bias alone, and of an input alone', async () => {
  const shape = [3, 2, 4, 9];
  const compute = async () => {
    const norm = new nn.BatchNorm2d(2);
    const bare = new nn.BatchNorm2d(2, { affine: false, trackRunningStats: false });
    const x = new Parameter(fill(shape, 2), shape);
    const factors = tensor(fill(shape, 3), shape);
    const y = norm.forward(tensor(fill(shape, 1), shape)).relu();
    await y.add(bare.forward(x).relu()).mul(factors).sum().backward();
    return [norm.weight!, norm.bias!, x].map(({ grad }) => grad!.slice());
  };
  const { own, plain } = await bothWays(compute);
  for (const [k, numbers] of own.entries()) expectClose(`gradient ${k}`, numbers, [...plain[k]], 2e-6);
});

test('a mean of 1,000 deviations does not reduce the variance’s precision', async () => {
  const shape = [6, 2, 40, 60];
  const x = fill(shape, 3).map((one) => one + 1000);
  const [, , , , , variance] = await trained(x, shape, endings.alone);
  const exact = [0, 1].map((channel) => {
    const values = [...x].filter((_, place) => Math.floor(place / 2400) % 2 === channel);
    const mean = values.reduce((sum, value) => sum + value) / values.length;
    const unbiased = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
    return 0.9 + 0.1 * unbiased;
  });
  expect(worstUlps(variance, exact)).toBeLessThan(2);
});

test('nor does a first value far from the others', async () => {
  const shape = [4, 1, 50, 50];
  const x = fill(shape, 3);
  x.fill(500, 0, 40);
  const [, , , , , variance] = await trained(x, shape, endings.alone);
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  const unbiased = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (x.length - 1);
  expect(worstUlps(variance, [0.9 + 0.1 * unbiased])).toBeLessThan(4);
});

test.each([NaN, Infinity])('a channel with %d does not change other channels', async (special) => {
  const shape = [4, 3, 5, 5];
  const x = fill(shape, 1);
  x[30] = special;
  const { own, plain } = await bothWays(() => trained(x, shape, endings['residual and relu']));
  const isNaN = (numbers: Float32Array) => Array.from(numbers, Number.isNaN);
  for (const [k, name] of names.entries()) expect(isNaN(own[k]), name).toEqual(isNaN(plain[k]));
  expect(isNaN(own[1])).toEqual([false, true, false]);
});

test('results are bit-identical for any number of threads', async () => {
  const shape = [9, 12, 21, 35];
  const compute = () => trained(fill(shape, 1), shape, endings['residual and relu']);
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});

describe('fuses', () => {
  const shape = [2, 3, 4, 5];
  const leaf = (seed: number, of: readonly number[]) => input('float32', of, { data: fill(of, seed) });
  const [x, r] = [1, 2].map((seed) => leaf(seed, shape));
  const normalized = (value: Value) => batchNormalize(value, leaf(3, [3]), leaf(4, [3]), 1e-5).normalized;
  const operatorsOf = (...values: Value[]) =>
    topologicalOrder(fuseBatchNormalization(values))
      .map(({ op }) => op)
      .filter((op) => op !== 'Input');

  test('the residual and relu, if they are the only readers', () => {
    expect(operatorsOf(relu(add(normalized(x), r)))).toEqual(['BatchNormalizeActivate']);
    const read = normalized(x);
    expect(operatorsOf(relu(read), neg(read))).toEqual(['BatchNormalizeActivate', 'Relu', 'Neg']);
    expect(operatorsOf(relu(read), read)).toEqual(['BatchNormalizeActivate', 'Relu']);
    const sum = add(normalized(x), r);
    expect(operatorsOf(relu(sum), neg(sum))).toEqual(['BatchNormalizeActivate', 'Relu', 'Neg']);
  });

  test('one of two normalized summands adds the other', () => {
    const y = relu(add(normalized(x), normalized(r)));
    expect(operatorsOf(y)).toEqual(['BatchNormalizeActivate', 'BatchNormalizeActivate']);
  });

  test('no residual that depends on the statistics', () => {
    const { normalized: y, mean } = batchNormalize(x, leaf(3, [3]), leaf(4, [3]), 1e-5);
    const shifted = mul(r, reshape(mean, [1, 3, 1, 1]));
    expect(operatorsOf(add(y, shifted))).toContain('Add');
  });

  test('no rows, and no images of few elements', () => {
    expect(operatorsOf(normalized(leaf(1, [4, 3])))).toEqual(['BatchNormalize']);
    expect(operatorsOf(normalized(leaf(1, [4, 3, 3, 5])))).toEqual(['BatchNormalize']);
  });
});
