import { expect, test } from 'vitest';
import { F, Parameter, tensor } from '../../../src/index.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { fill, fillCoarse, fillNotFinite } from '../../support/fill.ts';
import '../../support/one-thread.ts';

interface Window {
  kernel: number;
  stride: number;
  padding?: number;
}

async function trained(shape: readonly number[], { kernel, stride, padding = 0 }: Window, make = fillCoarse) {
  const x = new Parameter(make(shape, 1), shape);
  const y = F.maxPool2d(x, kernel, { stride, padding });
  await y
    .mul(tensor(fill(y.shape, 2), y.shape))
    .sum()
    .backward();
  return x.grad!.slice();
}

test.each<[string, number[], Window]>([
  ['overlapping', [2, 3, 7, 5], { kernel: 3, stride: 2 }],
  ['padded', [2, 3, 8, 9], { kernel: 3, stride: 2, padding: 1 }],
  ['every position', [1, 2, 5, 6], { kernel: 2, stride: 1 }],
  ['one window', [3, 1, 4, 4], { kernel: 4, stride: 1 }],
  ['many channels', [4, 33, 9, 9], { kernel: 3, stride: 1, padding: 1 }],
])(
  '%s windows, full of ties, NaN and infinities, are bit-identical to plain operators',
  async (_, shape, window) => {
    for (const make of [fillCoarse, fill, fillNotFinite]) {
      const { own, plain } = await bothWays(() => trained(shape, window, make));
      expect(own).toEqual(plain);
    }
  },
);

test('results are bit-identical for any number of threads', async () => {
  const compute = () => trained([4, 33, 19, 19], { kernel: 3, stride: 1 });
  expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
});
