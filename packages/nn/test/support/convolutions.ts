import type { ConvAttributes } from '../../src/graph/attributes.ts';
import type { Value } from '../../src/graph/node.ts';
import { Parameter, Tensor, tensor } from '../../src/index.ts';
import { fill } from './fill.ts';

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
