import { describe, test } from 'vitest';
import { ordering } from '../../../../src/executor/cuda/kernels/ordering.ts';
import type { Node } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { cumulativeSum } from '../../../../src/ops/cumulative.ts';
import { argMax, argMin, topK } from '../../../../src/ops/ordering.ts';
import { sizeOf } from '../../../../src/value-type.ts';
import { fill, fillCoarse, fillNotFinite } from '../../../support/fill.ts';
import { expectAsOnCpu } from './harness.ts';

describe.each([
  [[1], 0],
  [[5, 7], 1],
  [[5, 7], 0],
  [[2, 100], 1],
  [[3, 4, 5], 1],
])('lines of %j along axis %i', (shape, axis) => {
  const integers = tensor(
    BigInt64Array.from({ length: sizeOf(shape) }, (_, place) => BigInt((place * place) % 5) - 2n),
    shape,
  ).value;
  const values = [
    integers,
    ...[fill, fillCoarse, fillNotFinite].map((filled) => tensor(filled(shape, 1), shape).value),
  ];

  test('the first of the largest and of the smallest elements', async () => {
    for (const x of values) {
      await expectAsOnCpu(argMax(x, axis).node as Node<'ArgMax'>, ordering.ArgMax);
      await expectAsOnCpu(argMin(x, axis).node as Node<'ArgMin'>, ordering.ArgMin);
    }
  });

  test.each([true, false])('the first elements in order, largest %s', async (largest) => {
    for (const x of values) {
      for (const k of new Set([1, shape[axis]])) {
        const node = topK(x, k, axis, largest).values.node as Node<'TopK'>;
        await expectAsOnCpu(node, ordering.TopK, { tolerance: 0 });
      }
    }
  });

  test.each([true, false])('cumulative sums, reverse %s', async (reverse) => {
    for (const x of values) {
      await expectAsOnCpu(cumulativeSum(x, axis, reverse).node as Node<'CumSum'>, ordering.CumSum, {
        tolerance: 0,
      });
    }
  });
});
