import { expect, test } from 'vitest';
import { sequenceLosses } from '../../../../src/executor/cuda/kernels/ctc-loss.ts';
import type { Node, Value } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { ctcLosses } from '../../../../src/ops/own/ctc-loss.ts';
import { logSoftmax } from '../../../../src/ops/softmax.ts';
import { fill } from '../../../support/fill.ts';
import { expectAsOnCpu, onGpu } from './harness.ts';

const [times, samples, classes] = [9, 4, 5];
const integers = (values: readonly number[], shape = [values.length]): Value =>
  tensor(BigInt64Array.from(values, BigInt), shape).value;
const logProbs = logSoftmax(tensor(fill([times, samples, classes], 1), [times, samples, classes]).value, 2);
const inputLengths = integers([9, 7, 2, 0]);
const targetLengths = integers([3, 4, 3, 0]);
const padded = integers([1, 1, 2, 0, 3, 2, 3, 3, 1, 2, 4, 0, 0, 0, 0, 0], [samples, 4]);
const joined = integers([1, 1, 2, 3, 2, 3, 3, 1, 2, 4]);

const lossOf = (targets: Value, lengths: Value, zeroInfinity: boolean) =>
  ctcLosses({ logProbs, targets, inputLengths, targetLengths: lengths }, { blank: 0, zeroInfinity })
    .node as Node<'CtcLoss'>;

test.each([false, true])('losses and gradients agree with the CPU, zeroInfinity %s', async (zeroInfinity) => {
  for (const targets of [padded, joined]) {
    const node = lossOf(targets, targetLengths, zeroInfinity);
    await expectAsOnCpu(node, sequenceLosses.CtcLoss);
    await expectAsOnCpu(node, sequenceLosses.CtcLoss, { unread: [1] });
  }
});

const wrong = integers([...Array<number>(15).fill(1), 9], [samples, 4]);

test.each([
  [wrong, [1, 2, 3, 4], 'ctcLoss: expected targets from 0 to 4, got 9 in sample 3'],
  [joined, [3, 4, 3, 1], 'ctcLoss: expected target lengths within 10 targets, got 1 in sample 3'],
  [joined, [3, 4, 2, 0], 'ctcLoss: expected targets as long as the sum of their lengths, 9, got 10'],
])('targets that do not fit fail the run', async (targets, lengths, message) => {
  const node = lossOf(targets, integers(lengths), false);
  await expect(onGpu(node, sequenceLosses.CtcLoss)).rejects.toThrow(message);
});
