import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { autocast } from '../tensor/autocast.ts';
import { einsum } from '../tensor/combine.ts';
import { ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * x₁ᵀ·W·x₂ + b (torch.nn.functional.bilinear).
 *
 * - `input1`: [..., in1]
 * - `input2`: [..., in2]
 * - `weight`: [out, in1, in2]
 * - `bias`: [out]
 * @returns [..., out]
 */
export function bilinear(
  ...given: Call<[input1: Tensor, input2: Tensor, weight: Tensor, bias?: Tensor | undefined], 'F.bilinear'>
): Tensor {
  const [input1, input2, weight, bias] = arranged('F.bilinear', given);
  if (isNarrow(input1, input2, weight)) {
    return roundedOnce([input1, input2, weight], (x, y, w) => bilinear(x, y, w, bias));
  }
  const fits =
    weight.shape.length === 3 &&
    input1.shape.at(-1) === weight.shape[1] &&
    input2.shape.at(-1) === weight.shape[2];
  if (!fits) {
    throw new ShapeError(
      `bilinear: expected inputs […,in1] and […,in2] and a weight [out,in1,in2], got ${[input1, input2, weight].map(describeType).join(', ')}.`,
    );
  }
  // Not in torch's lists.
  const product = autocast({ enabled: false }, () => einsum('...n,onm,...m->...o', input1, weight, input2));
  return bias === undefined ? product : product.add(bias);
}
