import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { gemm, overRows } from '../ops/linear-algebra.ts';
import { Tensor } from '../tensor/tensor.ts';

/**
 * x·Wᵀ + b (torch.nn.functional.linear): input […, in], weight [out, in], bias [out]; returns […, out]. A weight [in] with a
 * bias [] has one output feature, and the result omits its dimension.
 */
export function linear(
  ...given: Call<[input: Tensor, weight: Tensor, bias?: Tensor | undefined], 'F.linear'>
): Tensor {
  const [input, weight, bias] = arranged('F.linear', given);
  const { shape } = input;
  if (weight.shape.length === 1 && (bias?.shape.length ?? 0) === 0) {
    const output = linear(input, weight.unsqueeze(0), bias?.unsqueeze(0));
    return output.view(...output.shape.slice(0, -1));
  }
  if (shape.length !== 2 && (weight.shape.length !== 2 || shape.at(-1) !== weight.shape[1])) {
    throw new ShapeError(
      `linear: expected an input […,in] and a weight [out,in], got ${describeType(input)} and ${describeType(weight)}.`,
    );
  }
  const [x, w, b] = autocastTensors('linear', input, weight, bias);
  return new Tensor(overRows(x.value, (rows) => gemm(rows, w.value, b?.value, { transB: true })));
}

/** Flattens dimensions `startDim` to `endDim` into one (torch.flatten). Default: 1 to -1, [N, …] to [N, features]. */
export function flatten(
  ...given: Call<[input: Tensor, startDim?: number | undefined, endDim?: number | undefined], 'F.flatten'>
): Tensor {
  const [input, startDim = 1, endDim = -1] = arranged('F.flatten', given);
  return input.flatten(startDim, endDim);
}
