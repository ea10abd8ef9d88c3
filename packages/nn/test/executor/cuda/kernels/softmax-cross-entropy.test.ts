import { describe, expect, test } from 'vitest';
import { softmaxCrossEntropies } from '../../../../src/executor/cuda/kernels/softmax-cross-entropy.ts';
import { createValue, type Node, type Value } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { softmaxCrossEntropy } from '../../../../src/ops/own/softmax-cross-entropy.ts';
import { fill, fillClasses } from '../../../support/fill.ts';
import { expectAsOnCpu, onGpu } from './harness.ts';

const { SoftmaxCrossEntropy, SoftmaxCrossEntropyGradient } = softmaxCrossEntropies;

function gradientOf(node: Node<'SoftmaxCrossEntropy'>, d: Value): Node<'SoftmaxCrossEntropyGradient'> {
  const [logits, classes, ...options] = node.inputs;
  const inputs = [d, logits, classes, ...node.outputs.slice(1), ...options];
  return createValue('SoftmaxCrossEntropyGradient', inputs, node.attributes, logits)
    .node as Node<'SoftmaxCrossEntropyGradient'>;
}

describe.each([
  [4, 10],
  [1, 1],
  [300, 3],
  [2, 1700],
])('%i rows of %i classes', (rows, count) => {
  test.each(['mean', 'sum', 'none'] as const)('%s agrees with the CPU', async (reduction) => {
    const x = tensor(
      fill([rows, count], 1).map((one) => 15 * one),
      [rows, count],
    ).value;
    const labels = fillClasses(rows, count, 2);
    labels[rows - 1] = -100n;
    if (rows === 1) labels[0] = 0n;
    const classes = tensor(labels).value;
    const weight = tensor(
      fill([count], 3).map((one) => one + 1.5),
      [count],
    ).value;
    const smoothing = tensor(Float32Array.of(0.1), []).value;
    for (const options of [{}, { weight }, { smoothing }, { weight, smoothing }]) {
      const node = softmaxCrossEntropy(x, classes, { ...options, ignoreIndex: -100, reduction })
        .node as Node<'SoftmaxCrossEntropy'>;
      await expectAsOnCpu(node, SoftmaxCrossEntropy);
      const d = tensor(fill(node.outputs[0].shape, 4), node.outputs[0].shape).value;
      await expectAsOnCpu(gradientOf(node, d), SoftmaxCrossEntropyGradient);
    }
  });
});

test('NaN and infinite logits', async () => {
  const rows = [
    [NaN, 1, 2],
    [Infinity, 1, 2],
    [-Infinity, 1, 2],
    [-Infinity, -Infinity, -Infinity],
    [1, 2, 3],
    [NaN, 1, 2],
  ];
  const x = tensor(Float32Array.from(rows.flat()), [6, 3]).value;
  const classes = tensor(BigInt64Array.of(1n, 2n, 0n, 1n, 2n, -1n)).value;
  const node = softmaxCrossEntropy(x, classes, { ignoreIndex: -1, reduction: 'none' })
    .node as Node<'SoftmaxCrossEntropy'>;
  await expectAsOnCpu(node, SoftmaxCrossEntropy);
  await expectAsOnCpu(gradientOf(node, tensor(fill([6], 1), [6]).value), SoftmaxCrossEntropyGradient);
});

test('a class out of range fails the run, in the words of the CPU', async () => {
  const x = tensor(fill([4, 3], 1), [4, 3]).value;
  const classes = tensor(BigInt64Array.of(1n, 2n, 3n, -7n)).value;
  const node = softmaxCrossEntropy(x, classes, { ignoreIndex: -100, reduction: 'mean' })
    .node as Node<'SoftmaxCrossEntropy'>;
  await expect(onGpu(node, SoftmaxCrossEntropy)).rejects.toThrow(
    'expected classes from 0 to 2 or ignoreIndex, got 3 in row 2',
  );
});
