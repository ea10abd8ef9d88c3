import { describe, expect, test } from 'vitest';
import { F, Parameter, type Tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

async function gradientAt(elements: readonly number[], compute: (x: Tensor) => Tensor): Promise<number[]> {
  const x = new Parameter(Float32Array.from(elements), [elements.length]);
  await compute(x).backward();
  return [...x.grad!];
}

describe('the gradient is 0, as in torch, not NaN', () => {
  test.each([0.5, 1, 2, 3, 2.5])('of the %d-norm of zeros', async (p) => {
    expect(await gradientAt([0, 0, 0], (x) => x.norm(p))).toEqual([0, 0, 0]);
  });

  test.each([2, 3])('of zeros that F.normalize divides by eps, p = %d', async (p) => {
    const normalized = (x: Tensor) => F.normalize(x.view(1, 3), { p, eps: 0.5 }).sum();
    expect(await gradientAt([0, 0, 0], normalized)).toEqual([2, 2, 2]);
  });

  test('of the standard deviation of equal elements', async () => {
    expect(await gradientAt([0.5, 0.5, 0.5], (x) => x.std())).toEqual([0, 0, 0]);
  });
});

test('an element of 0 has no slope in the norm of others', async () => {
  const [none, one] = await gradientAt([0, 4], (x) => x.norm(0.5));
  expect(none).toBe(0);
  expect(one).toBeCloseTo(1, 6);
});
