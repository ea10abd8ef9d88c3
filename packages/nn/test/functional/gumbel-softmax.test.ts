import { expect, test } from 'vitest';
import { F, manualSeed, Parameter, tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

const draws = 20_000;
const probabilities = [0.1, 0.6, 0.3];
const logits = () => tensor(Float32Array.from(probabilities, Math.log), [1, 3]).expand(draws, 3);

test('hard samples are one-hot, at the frequency of their probabilities', async () => {
  manualSeed(2);
  const samples = F.gumbelSoftmax(logits(), { hard: true, tau: 0.5 });
  const means = await samples.mean([0]).array();
  for (const [i, p] of probabilities.entries()) expect(Number(means[i])).toBeCloseTo(p, 1.5);
  expect(
    await samples
      .sum([1])
      .sub(samples.amax([1]))
      .abs()
      .max()
      .item(),
  ).toBeLessThan(1e-6);
});

test('soft samples sum to 1 along the dimension and have a gradient', async () => {
  manualSeed(2);
  const x = new Parameter(Float32Array.of(0.5, -1, 2, 0), [2, 2]);
  const soft = F.gumbelSoftmax(x, { dim: 0 });
  expect([...(await soft.sum([0]).array())].map(Number)).toEqual([expect.closeTo(1), expect.closeTo(1)]);
  await soft.select(0, 0).sum().backward();
  expect([...x.grad!].every((g) => g !== 0)).toBe(true);
  expect(() => F.gumbelSoftmax(x, { tau: 0 })).toThrow('gumbelSoftmax: expected tau above 0, got 0.');
});
