import { describe, expect, test } from 'vitest';
import { F, nn, Parameter, tensor, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { checkGolden, goldenFile, type GoldenCase } from '../support/golden-cases.ts';
import '../support/one-thread.ts';

// The losses of test/golden/ctc.py, under the same names.

const padded = [1, 2, 3, 4, 4, 1, 6, 6, 2, 2, 1, 6, 6, 6, 6, 6];
const targets = tensor(padded, [4, 4]);
const joined = tensor([1, 2, 3, 4, 4, 1, 2, 2, 1]);
const inputLengths = [9, 7, 4, 5];
const targetLengths = [4, 2, 3, 0];
const short = [3, 7, 3, 5];

const logSoftmax = (x: Tensor) => x.mul(4).logSoftmax(-1);
const loss =
  (labels: Tensor, lengths: readonly number[], options: F.CTCLossOptions = {}) =>
  (x: Tensor) =>
    new nn.CTCLoss(options).forward(logSoftmax(x), labels, lengths, targetLengths);

checkGolden(goldenFile('ctc') as readonly GoldenCase[], {
  'padded targets, mean': loss(targets, inputLengths),
  'padded targets, sum': loss(targets, inputLengths, { reduction: 'sum' }),
  'padded targets, none': loss(targets, inputLengths, { reduction: 'none' }),
  'joined targets': loss(joined, inputLengths, { reduction: 'none' }),
  'last blank': loss(
    tensor(
      padded.map((label) => label % 6),
      [4, 4],
    ),
    inputLengths,
    { reduction: 'none', blank: 6 },
  ),
  'whole inputs': loss(targets, [9, 9, 9, 9]),
  'too short inputs, no infinity': loss(targets, short, { reduction: 'none', zeroInfinity: true }),
  'too short inputs, no infinity, mean': loss(targets, short, { zeroInfinity: true }),
  'without softmax': (x) => F.ctcLoss(x, targets, tensor(inputLengths), tensor(targetLengths)),
  'one sequence': (x) => F.ctcLoss(x.logSoftmax(-1), tensor([3, 3, 1]), 6, 3),
});

test('a target too long for its input has an infinite loss and no finite gradient', async () => {
  const x = new Parameter(fill([2, 1, 4], 1), [2, 1, 4]);
  const infinite = F.ctcLoss(x.logSoftmax(-1), tensor([1, 1], [1, 2]), [2], [2]);
  await infinite.backward();
  expect(await infinite.item()).toBe(Infinity);
  expect([...x.grad!].every(Number.isNaN)).toBe(true);
});

test('a long sequence neither underflows nor enlarges the program', async () => {
  const [times, classes] = [1000, 30];
  const x = new Parameter(fill([times, 1, classes], 1), [times, 1, classes]);
  const labels = Array.from({ length: 200 }, (_, i) => 1 + ((i * 7) % (classes - 1)));
  const one = F.ctcLoss(x.mul(20).logSoftmax(-1), tensor(labels), [times], [200], { reduction: 'sum' });
  await one.backward();
  expect(await one.item()).toBeGreaterThan(1000);
  expect([...x.grad!].every(Number.isFinite)).toBe(true);
});

describe('wrong arguments are rejected', () => {
  const x = tensor(fill([3, 2, 4], 1), [3, 2, 4]);
  const labels = tensor([1, 2], [2, 1]);

  test.each<[string, () => Tensor, string]>([
    [
      'dtype',
      () => F.ctcLoss(labels, labels, [3, 3], [1, 1]),
      'expected float32[T,N,C] or [T,C], got int64[2,1]',
    ],
    ['targets', () => F.ctcLoss(x, x, [3, 3], [1, 1]), 'expected targets int64[2,S] or all in one dimension'],
    ['blank', () => F.ctcLoss(x, labels, [3, 3], [1, 1], { blank: 4 }), 'blank must be from 0 to 3, got 4'],
    [
      'number of lengths',
      () => F.ctcLoss(x, labels, [3], [1, 1]),
      'expected inputLengths int64[2], got int64[1]',
    ],
    ['fraction', () => F.ctcLoss(x, labels, [3, 1.5], [1, 1]), 'inputLengths must be whole, got 1.5'],
  ])('%s', (_, call, message) => {
    expect(call).toThrow(message);
  });

  test.each<[string, () => Tensor, string]>([
    [
      'class',
      () => F.ctcLoss(x, tensor([1, 9], [2, 1]), [3, 3], [1, 1]),
      'targets from 0 to 3, got 9 in sample 1',
    ],
    [
      'input length',
      () => F.ctcLoss(x, labels, [3, 4], [1, 1]),
      'input lengths from 0 to 3, got 4 in sample 1',
    ],
    [
      'target length',
      () => F.ctcLoss(x, labels, [3, 3], [1, 2]),
      'target lengths from 0 to 1, got 2 in sample 1',
    ],
    [
      'joined targets',
      () => F.ctcLoss(x, tensor([1, 2, 3]), [3, 3], [1, 1]),
      'the sum of their lengths, 2, got 3',
    ],
  ])('%s, when it runs', async (_, call, message) => {
    await expect(call().array()).rejects.toThrow(message);
  });
});
