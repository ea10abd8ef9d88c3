import { expect } from 'vitest';
import type { ConvAttributes } from '../../src/graph/attributes.ts';
import type { Value } from '../../src/graph/node.ts';
import { Parameter, Tensor, tensor } from '../../src/index.ts';
import { fill } from './fill.ts';
import { expectClose } from './numeric.ts';

type Convolve = (image: Value, weight: Value, window: ConvAttributes) => Value;

/** The results of a convolution, and the gradients of its image and weight, whose shapes are given. */
export function trainedBy(convolve: Convolve) {
  return async (
    image: readonly number[],
    weight: readonly number[],
    window: ConvAttributes,
  ): Promise<Float32Array[]> => {
    const [x, w] = [image, weight].map((shape, seed) => new Parameter(fill(shape, seed), shape));
    const y = new Tensor(convolve(x.value, w.value, window));
    const values = (await y.array()) as Float32Array;
    await y
      .mul(tensor(fill(y.shape, 2), y.shape))
      .sum()
      .backward();
    return [values, x.grad!.slice(), w.grad!.slice()];
  };
}

/** The same for an image, a weight and a gradient of the results in bfloat16. */
export function trainedInBfloat16By(convolve: Convolve) {
  return async (
    image: readonly number[],
    weight: readonly number[],
    window: ConvAttributes,
  ): Promise<Float32Array[]> => {
    const [x, w] = [image, weight].map((shape, seed) => new Parameter(fill(shape, seed), shape));
    const y = new Tensor(convolve(x.bfloat16().value, w.value, window));
    expect(y.dtype).toBe('bfloat16');
    const values = (await y.array()) as Float32Array;
    await y
      .mul(tensor(fill(y.shape, 2), y.shape).bfloat16())
      .float()
      .sum()
      .backward();
    return [values, x.grad!.slice(), w.grad!.slice()];
  };
}

/**
 * Results and the gradient of the image are rounded to bfloat16, where sums that differ in their last bits may round to neighbours.
 * The gradient of the weight is a sum in float32, which the plain graph rounds if it rounds the weight.
 */
export function expectCloseInBfloat16(
  own: readonly Float32Array[],
  plain: readonly Float32Array[],
  toleranceOfWeight = 1e-5,
): void {
  for (const [k, name] of ['y', 'gradient of the image'].entries()) {
    expectClose(name, own[k], [...plain[k]], 2 ** -8);
    const different = own[k].filter((element, place) => element !== plain[k][place]);
    expect(different.length).toBeLessThanOrEqual(own[k].length / 50);
  }
  expectClose('gradient of the weight', own[2], [...plain[2]], toleranceOfWeight);
}
