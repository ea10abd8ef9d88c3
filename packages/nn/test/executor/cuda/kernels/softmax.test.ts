import { describe, test } from 'vitest';
import { softmaxes } from '../../../../src/executor/cuda/kernels/softmax.ts';
import { tensor } from '../../../../src/index.ts';
import { logSoftmax, softmax } from '../../../../src/ops/softmax.ts';
import { safeSoftmax } from '../../../../src/ops/own/safe-softmax.ts';
import { isNode } from '../../../../src/graph/node.ts';
import { fill } from '../../../support/fill.ts';
import { expectAsOnCpu } from './harness.ts';

describe.each([
  [[3, 1], 1],
  [[5, 7], 1],
  [[2, 3, 33], 2],
  [[3, 1500], 1],
  [[2, 5, 3, 4], 1],
  [[600, 2], 0],
  [[1, 8], 0],
])('softmax of %j along axis %i', (shape, axis) => {
  test('agrees with the CPU', async () => {
    const x = tensor(
      fill(shape, 1).map((one) => 20 * one),
      shape,
    ).value;
    const wanted = softmax(x, axis).node;
    if (isNode(wanted, 'Softmax')) await expectAsOnCpu(wanted, softmaxes.Softmax);
    const logarithms = logSoftmax(x, axis).node;
    if (isNode(logarithms, 'LogSoftmax')) await expectAsOnCpu(logarithms, softmaxes.LogSoftmax);
  });
});

const special = [
  [NaN, -Infinity, -Infinity],
  [-Infinity, -Infinity, NaN],
  [NaN, 1, 2],
  [Infinity, 1, 2],
  [-Infinity, -Infinity, -Infinity],
  [-Infinity, 3, -Infinity],
  [1e30, -1e30, 1e-40],
];

test('NaN, infinities and rows of −∞', async () => {
  const x = tensor(Float32Array.from(special.flat()), [special.length, 3]).value;
  await expectAsOnCpu(softmax(x, 1).node as never, softmaxes.Softmax);
  await expectAsOnCpu(softmax(x, 0).node as never, softmaxes.Softmax);
  await expectAsOnCpu(safeSoftmax(x).node as never, softmaxes.SafeSoftmax);
});
