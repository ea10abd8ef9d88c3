import { describe, test } from 'vitest';
import { layerNormalization } from '../../../../src/executor/cuda/kernels/layer-normalize.ts';
import { normalization } from '../../../../src/executor/cuda/kernels/statistics.ts';
import { createNode, type Node } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { affine, batchNormalize } from '../../../../src/ops/batch-normalization.ts';
import { normalize } from '../../../../src/ops/normalization.ts';
import { layerNormalize } from '../../../../src/ops/own/layer-normalize.ts';
import { fill } from '../../../support/fill.ts';
import { expectAsOnCpu } from './harness.ts';

const value = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape).value;

describe.each([
  [[3, 1], 1],
  [[5, 7], 1],
  [[2, 40, 33], 1],
  [[3, 4, 5], 2],
  [[2, 1500], 1],
])('rows of %j over %i axes', (shape, axes) => {
  test.each([
    [true, true, false],
    [true, false, true],
    [false, false, false],
  ])('layer norm with weight %s, bias %s, another gradient %s', async (hasWeight, hasBias, adds) => {
    const x = value(shape, 1);
    const weight = hasWeight ? value(shape.slice(-axes), 2) : undefined;
    const bias = hasBias ? value(shape.slice(-axes), 3) : undefined;
    const node = layerNormalize(x, axes, 1e-5, weight, bias).node as Node<'LayerNormalize'>;
    await expectAsOnCpu(node, layerNormalization.LayerNormalize);
    const inputs = [
      value(shape, 4),
      x,
      node.outputs[1],
      ...(weight ? [weight] : []),
      ...(adds ? [value(shape, 5)] : []),
    ];
    const ofWeight = { dtype: 'float32', shape: shape.slice(-axes) } as const;
    const given = { ...node.attributes, adds };
    const gradient = createNode('LayerNormalizeGradient', inputs, given, [x, ofWeight, ofWeight]);
    await expectAsOnCpu(gradient, layerNormalization.LayerNormalizeGradient);
  });
});

test.each([
  [[4, 6], [1]],
  [[4, 6], [0]],
  [
    [2, 3, 4, 5],
    [2, 3],
  ],
  [
    [2, 3, 4, 5],
    [0, 2],
  ],
  [[2, 3, 4, 5], [1]],
  [
    [2, 3, 4, 5],
    [1, 3],
  ],
  [
    [2, 3, 4, 5],
    [0, 1, 2, 3],
  ],
  [[1, 30_000], [1]],
])('normalize of %j over %j agrees with the CPU', async (shape, axes) => {
  const node = normalize(value(shape, 1), axes, 1e-5).normalized.node as Node<'Normalize'>;
  await expectAsOnCpu(node, normalization.Normalize, { tolerance: 1e-5 });
});

test.each([[[4, 3]], [[2, 3, 5, 7]], [[3, 2, 4, 5, 6]], [[40, 2, 9, 11]]])(
  'batch norm and affine of %j agree with the CPU',
  async (shape) => {
    const [x, weight, bias] = [value(shape, 1), value([shape[1]], 2), value([shape[1]], 3)];
    const node = batchNormalize(x, weight, bias, 1e-5).normalized.node as Node<'BatchNormalize'>;
    // The means of the last shape are 1/4,000 of the elements, whose rounding they have.
    await expectAsOnCpu(node, normalization.BatchNormalize, { tolerance: shape[0] === 40 ? 1e-5 : 2e-6 });
    await expectAsOnCpu(affine(x, weight, bias).node as Node<'Affine'>, normalization.Affine);
  },
);

test.each([[[1, 8]], [[2500, 6]], [[1700, 40]], [[90, 132]]])(
  'statistics of the columns of %j, read one by one or four at once, agree with the CPU',
  async (shape) => {
    const [x, weight, bias] = [value(shape, 1), value([shape[1]], 2), value([shape[1]], 3)];
    const node = batchNormalize(x, weight, bias, 1e-5).normalized.node as Node<'BatchNormalize'>;
    // Means are sums in which almost everything cancels, so the tolerance is relative to their size.
    await expectAsOnCpu(node, normalization.BatchNormalize, { tolerance: 2e-5 });
    await expectAsOnCpu(node, normalization.BatchNormalize, { tolerance: 2e-5, unread: [0, 3] });
  },
);
