import { expect, test } from 'vitest';
import { F, manualSeed, nn, ones, randn, zeros } from '../../src/index.ts';
import '../support/one-thread.ts';

test.each([
  ['dropout1d', F.dropout1d, [3, 50, 7]],
  ['dropout2d', F.dropout2d, [3, 50, 2, 3]],
  ['dropout3d', F.dropout3d, [3, 50, 2, 1, 3]],
] as const)('%s drops whole channels and scales the others', async (_, dropout, shape) => {
  manualSeed(5);
  const channels = dropout(ones(shape), 0.4).flatten(2);
  const [first, spread] = await Promise.all([
    channels.select(2, 0).array(),
    channels
      .sub(channels.narrow(2, 0, 1))
      .abs()
      .max()
      .item(),
  ]);
  expect(spread).toBe(0);
  expect(new Set<number>(first as Float32Array)).toEqual(new Set([0, Math.fround(1 / 0.6)]));
  const dropped = [...(first as Float32Array)].filter((x) => x === 0).length;
  expect(dropped).toBeGreaterThan(40);
  expect(dropped).toBeLessThan(80);
});

test('alphaDropout keeps mean 0 and variance 1', async () => {
  manualSeed(5);
  const x = F.alphaDropout(randn([50_000]), 0.3);
  expect(await x.mean().item()).toBeCloseTo(0, 1);
  expect(await x.std().item()).toBeCloseTo(1, 1);
});

test.each([
  [new nn.Dropout1d(0.5), [2, 3, 4]],
  [new nn.Dropout2d(0.5), [2, 3, 4, 4]],
  [new nn.Dropout3d(0.5), [2, 3, 4, 4, 4]],
  [new nn.AlphaDropout(0.5), [7]],
])('%# is the identity in evaluation, and changes elements in training', async (module, shape) => {
  const x = randn(shape);
  module.eval();
  expect(module.forward(x)).toBe(x);
  module.train();
  expect(await module.forward(x).sub(x).abs().sum().item()).toBeGreaterThan(0);
});

test('errors name the shape and the probability', () => {
  expect(() => F.dropout2d(zeros([3, 4]))).toThrow(
    'dropout2d: expected 4 dimensions, or 3 without a batch, got float32[3,4].',
  );
  expect(() => new nn.Dropout2d(2)).toThrow('Dropout2d: p must be from 0 to 1, got 2.');
});
