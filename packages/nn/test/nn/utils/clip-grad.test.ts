import { describe, expect, test } from 'vitest';
import { ArgumentError, nn, Parameter, tensor } from '../../../src/index.ts';
import { clipCases } from '../../support/clip-golden.ts';
import { fill } from '../../support/fill.ts';
import { gradientSink } from '../../support/gradient-sink.ts';
import { expectClose } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

const { clipGradNorm, clipGradValue } = nn.utils;

/** A parameter with a gradient. */
async function withGradient(gradient: Float32Array): Promise<Parameter> {
  const parameter = new Parameter(new Float32Array(gradient.length), [gradient.length]);
  await parameter.mul(tensor(gradient)).sum().backward();
  return parameter;
}
const without = () => new Parameter(new Float32Array(2), [2]);

test.each(clipCases)('clipGradNorm to $maxNorm, p = $normType, as in torch', async (expected) => {
  const parameters = [await withGradient(fill([12], 1)), without(), await withGradient(fill([5], 2))];
  const { maxNorm, normType } = expected;
  expect(clipGradNorm(parameters, maxNorm, { normType })).toBeCloseTo(expected.norm, 12);
  for (const [position, gradients] of expected.gradients.entries()) {
    const { grad } = parameters[2 * position];
    // Clipping to 0 leaves zeros, and each element must be one.
    expectClose(`gradient ${position}`, grad!, gradients, 1e-6);
  }
});

describe('clipGradNorm', () => {
  test('sums in double precision', async () => {
    const gradient = new Float32Array(3_000_000).fill(1e-3);
    gradient[0] = 1000;
    const exact = Math.sqrt(1000 ** 2 + (gradient.length - 1) * Math.fround(1e-3) ** 2);
    expect(clipGradNorm(await withGradient(gradient), Infinity)).toBeCloseTo(exact, 9);
  });

  test('accepts one parameter, ignores duplicates, and returns 0 without gradients', async () => {
    const parameter = await withGradient(Float32Array.of(3, 4));
    expect(clipGradNorm(parameter, 10)).toBe(5);
    expect(clipGradNorm([parameter, parameter], 2.5)).toBe(5);
    expectClose('gradient', parameter.grad!, [1.5, 2], 1e-6);
    expect(clipGradNorm([without()], 1)).toBe(0);
  });

  test('scales the gradient in its bucket, in place', async () => {
    const bucket = Float32Array.of(7, 0, 0, 7);
    const parameter = without();
    parameter.gradientSink = gradientSink({ arrayOf: () => bucket.subarray(1, 3) });
    await parameter
      .mul(tensor(Float32Array.of(30, 40)))
      .sum()
      .backward();
    expect(clipGradNorm([parameter], 5)).toBe(50);
    expectClose('bucket', bucket, [7, 3, 4, 7], 1e-6);
  });

  test.each([NaN, Infinity])(
    'with errorIfNonfinite, a gradient of %s is an error that changes nothing',
    async (element) => {
      const parameter = await withGradient(Float32Array.of(3, element));
      expect(() => clipGradNorm(parameter, 1, { errorIfNonfinite: true })).toThrow(
        expect.objectContaining({
          code: 'ERR_NONFINITE',
          message: expect.stringContaining(`norm of all gradients, got ${element}`) as string,
        }) as Error,
      );
      expect(parameter.grad).toEqual(Float32Array.of(3, element));
      expect(clipGradNorm(parameter, 1)).toBe(element);
      expect(parameter.grad![1]).toBeNaN();
    },
  );

  test.each<[string, number, number]>([
    ['maxNorm must be at least 0, got -1', -1, 2],
    ['maxNorm must be at least 0, got NaN', NaN, 2],
    ['normType must be above 0, got 0', 1, 0],
  ])('rejects: %s', async (message, maxNorm, normType) => {
    const parameter = await withGradient(Float32Array.of(3, 4));
    const clip = () => clipGradNorm(parameter, maxNorm, { normType });
    expect(clip).toThrow(ArgumentError);
    expect(clip).toThrow(message);
    expect(parameter.grad).toEqual(Float32Array.of(3, 4));
  });
});

describe('clipGradValue', () => {
  test('clamps every element and keeps NaN', async () => {
    const parameter = await withGradient(Float32Array.of(-3, -0.5, 0.25, Infinity, NaN));
    clipGradValue([without(), parameter], 0.5);
    expect(parameter.grad).toEqual(Float32Array.of(-0.5, -0.5, 0.25, 0.5, NaN));
  });

  test('rejects a value below 0', () => {
    expect(() => {
      clipGradValue([], -1);
    }).toThrow('clipValue must be at least 0, got -1');
  });
});
