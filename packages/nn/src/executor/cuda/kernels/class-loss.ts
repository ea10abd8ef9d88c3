import type { Kernel, LoweringFamily } from '../lowering.ts';
import { int64, kernelsIn, launchBlock } from './launches.ts';
import { sourceOf } from './prelude.ts';
import { refusedElement } from './refusals.ts';

const source = sourceOf(`
// The negated mean of log-probabilities of the classes, NaN if all are ignored; the classes, with \`count\` for ignored ones; 1 / number
// of classes that are not ignored, at most 1.
extern "C" __global__ void __launch_bounds__(256) negativeLogLikelihood(const float* logProbabilities, const int64* classes, float* loss, int64* places,
                                                                        float* share, unsigned long long* refused, int64 rows, int64 count,
                                                                        int64 ignored) {
  double sum = 0;
  double taken = 0;
  for (int64 row = threadIdx.x; row < rows; row += 256) {
    const int64 label = classes[row];
    const bool isIgnored = label == ignored;
    const bool isInRange = label >= 0 && label < count;
    places[row] = isIgnored || !isInRange ? count : label;
    if (isIgnored) continue;
    taken += 1;
    if (isInRange) sum -= logProbabilities[row * count + label];
    else refuse(refused, row, label);
  }
  sum = combined<256, Sum>(sum);
  taken = combined<256, Sum>(taken);
  if (threadIdx.x != 0) return;
  *loss = static_cast<float>(sum / taken);
  *share = static_cast<float>(1 / (taken > 1 ? taken : 1));
}
`);

const kernels = kernelsIn('class-loss.cu', source, ['negativeLogLikelihood']);

export const classLossKernels: readonly Kernel[] = Object.values(kernels);

export const classLosses: LoweringFamily<'NegativeLogLikelihoodLoss'> = {
  NegativeLogLikelihoodLoss: ({ inputs, outputs, attributes: { ignoreIndex } }, lowering) => {
    const [rows, count] = inputs[0].shape;
    const refused = lowering.refusal((found) => {
      const { place, got } = refusedElement(found);
      return `nllLoss: expected classes from 0 to ${count - 1} or ignoreIndex, got ${got} in row ${place}`;
    });
    const arrays = [...inputs, ...outputs].map((value) => lowering.at(value));
    const numbers = [int64(rows), int64(count), int64(ignoreIndex)];
    launchBlock(lowering, kernels.negativeLogLikelihood, 256, [...arrays, refused, ...numbers]);
  },
};
