import { describe, expect, test } from 'vitest';
import { tensor, type DType, type Parameter, type Tensor } from '../../src/index.ts';
import { isFloat } from '../../src/dtype.ts';
import { operandsIn, operations, parametersOf } from '../support/bfloat16-operations.ts';
import { bothWays } from '../support/both-ways.ts';
import { fill } from '../support/fill.ts';
import { goldenFile } from '../support/golden-cases.ts';
import { roundedToBfloat16 } from '../support/rounded-to-bfloat16.ts';
import '../support/one-thread.ts';

const dtypes = goldenFile('bfloat16') as Readonly<Record<string, DType | 'error'>>;

/** Round twice or more: operations that torch too computes in several steps, whose intermediate results are bfloat16. */
const roundsTwice = new Set(['attention', 'einsum', 'scatterAdd', 'floor', 'long']);
// As in torch on a GPU, the bias of a convolution is added to what cuDNN has rounded.
if (process.env['TEST_DEVICE'] === 'cuda') roundsTwice.add('conv2d');

interface Computed {
  readonly dtype: DType;
  readonly elements: Float32Array;
  /** By operand, of those that the result depends on. */
  readonly gradients: ReadonlyMap<string, Float32Array>;
}

async function computed(name: string, dtype: 'float32' | 'bfloat16'): Promise<Computed> {
  const parameters = parametersOf();
  const result = operations[name](operandsIn(dtype, parameters));
  const elements = Float32Array.from<number | bigint>((await result.array()) as ArrayLike<number>, Number);
  if (!isFloat(result) || !result.requiresGrad)
    return { dtype: result.dtype, elements, gradients: new Map() };
  await lossOf(result).backward();
  const trained = Object.entries(parameters).filter(([, { grad }]) => grad !== undefined);
  return {
    dtype: result.dtype,
    elements,
    gradients: new Map(trained.map(([key, one]) => [key, gradOf(one)])),
  };
}

const gradOf = ({ grad }: Parameter) => grad!.slice();

/** The sum of products with numbers that bfloat16 holds, in float32. */
function lossOf(result: Tensor): Tensor {
  const weights = tensor(roundedToBfloat16(fill(result.shape, 50)), result.shape);
  return result.float().mul(weights).sum();
}

/** The rounded numbers of those of float32, within units in the last place of bfloat16. */
function expectRounded(actual: Float32Array, exact: Float32Array, ulps = 0): void {
  const expected = roundedToBfloat16(exact);
  if (ulps === 0) {
    expect(actual).toEqual(expected);
    return;
  }
  const largest = expected.reduce((most, one) => Math.max(most, Math.abs(one)), 2 ** -20);
  for (const [place, one] of actual.entries()) {
    expect(Math.abs(one - exact[place]), `element ${place}`).toBeLessThanOrEqual(ulps * largest * 2 ** -7);
  }
}

describe.each(Object.keys(operations))('%s of bfloat16', (name) => {
  test('has the dtype that torch gives it; a product that torch rejects is float32', () => {
    const expected = dtypes[name] === 'error' ? 'float32' : dtypes[name];
    expect(operations[name](operandsIn('bfloat16', parametersOf())).dtype).toBe(expected);
  });

  test('equals the rounded result of float32, with rounded gradients, by own and by plain operators', async () => {
    const both = await bothWays(async () => ({
      narrow: await computed(name, 'bfloat16'),
      wide: await computed(name, 'float32'),
    }));
    for (const { narrow, wide } of Object.values(both)) {
      const ulps = roundsTwice.has(name) ? 2 : 0;
      if (narrow.dtype === 'bfloat16') expectRounded(narrow.elements, wide.elements, ulps);
      else expect(narrow.elements).toEqual(wide.elements);
      expect([...narrow.gradients.keys()]).toEqual([...wide.gradients.keys()]);
      for (const [operand, gradient] of narrow.gradients) {
        expectRounded(gradient, wide.gradients.get(operand)!, 2);
      }
    }
  });
});

test('the operations are those whose dtypes torch has given', () => {
  expect(Object.keys(operations)).toEqual(Object.keys(dtypes));
});
