import { sizeOf } from '../../../value-type.ts';
import type { Kernel, LoweringFamily } from '../lowering.ts';
import { int32, int64, kernelsIn, launchElements } from './launches.ts';
import { sourceOf } from './prelude.ts';
import { refusedBits, refusedElement } from './refusals.ts';

const source = sourceOf(`
// Refused indices become a valid one, because later kernels of the run read it.
extern "C" __global__ void __launch_bounds__(256) checkIndices(const int64* indices, int64* checked, unsigned long long* refused, int64 least, int64 most,
                                                               int ignores, int64 ignored, int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 index = indices[i];
    const bool isValid = (index >= least && index < most) || (ignores && index == ignored);
    if (!isValid) refuse(refused, i, index);
    checked[i] = isValid ? index : least;
  }
}

extern "C" __global__ void __launch_bounds__(256) checkProbabilities(const float* given, float* checked, unsigned long long* refused, int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const float one = given[i];
    if (!(one >= 0.0f && one <= 1.0f)) refuse(refused, i, __float_as_int(one));
    checked[i] = one;
  }
}
`);

const kernels = kernelsIn('checks.cu', source, ['checkIndices', 'checkProbabilities']);

export const checkKernels: readonly Kernel[] = Object.values(kernels);

export const checks: LoweringFamily<'CheckIndices' | 'CheckProbabilities'> = {
  CheckIndices: ({ inputs: [indices], outputs: [checked], attributes }, lowering) => {
    const { expected, least, count, ignored } = attributes;
    const refused = lowering.refusal((found) => {
      const { place, got } = refusedElement(found);
      return `${expected}, got ${got} at index ${place}`;
    });
    const range = [int64(least), int64(count), int32(Number(ignored !== undefined)), int64(ignored ?? 0)];
    const args = [lowering.at(indices), lowering.at(checked), refused, ...range];
    launchElements(lowering, kernels.checkIndices, sizeOf(indices.shape), args);
  },
  CheckProbabilities: ({ inputs: [given], outputs: [checked], attributes: { expected } }, lowering) => {
    const refused = lowering.refusal((found) => {
      const { place, number } = refusedBits(found);
      return `${expected}, got ${Number(number.toPrecision(6))} at index ${place}`;
    });
    const args = [lowering.at(given), lowering.at(checked), refused];
    launchElements(lowering, kernels.checkProbabilities, sizeOf(given.shape), args);
  },
};
