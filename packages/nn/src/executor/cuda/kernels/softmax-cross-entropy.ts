import type { SoftmaxCrossEntropyAttributes } from '../../../graph/attributes.ts';
import type { Value } from '../../../graph/node.ts';
import type { Lowering, LoweringFamily } from '../lowering.ts';
import {
  addressOf,
  int32,
  int64,
  launchBlock,
  launchRows,
  nullPointer,
  rowKernelsText,
  typedKernels,
} from './launches.ts';
import { refusedElement } from './refusals.ts';

/**
 * With p = softmax(x[n]), t the class of the row, w the weights, s the smoothing and C the number of classes, a row that is not
 * ignored has the loss −(1 − s)·w[t]·log p[t] − s/C·Σ w[c]·log p[c], and with g its gradient the logits have
 * g·((1 − s)·w[t]·(p[c] − [c = t]) + s/C·(p[c]·Σ w − w[c])). A class out of range is reported in `refused`. Logits and their
 * gradient are `T`.
 */
const body = `
constexpr int kReductionThreads = 256;

template <int kThreads>
__device__ __forceinline__ double sumOfWeights(const float* weights, int64 count) {
  if (weights == nullptr) return static_cast<double>(count);
  double sum = 0;
  for (int64 i = threadIdx.x % kThreads; i < count; i += kThreads) sum += weights[i];
  return combined<kThreads, Sum>(sum);
}

__device__ __forceinline__ bool isInRange(int64 label, int64 count) { return label >= 0 && label < count; }

template <int kThreads>
__device__ __forceinline__ void classLoss(const T* logits, const int64* classes, const float* weights, const float* smoothing, double* losses,
                                          float* statistics, unsigned long long* refused, int64 count, int64 ignored, int64 row) {
  const int thread = threadIdx.x % kThreads;
  const T* const x = logits + row * count;
  float largest = -kInfinity;
  for (int64 i = thread; i < count; i += kThreads) largest = Largest()(largest, static_cast<float>(x[i]));
  largest = combined<kThreads, Largest>(largest);
  float part = 0.0f;
  for (int64 i = thread; i < count; i += kThreads) part += expf(x[i] - largest);
  const double sum = combined<kThreads, Sum>(static_cast<double>(part));
  const float s = smoothing == nullptr ? 0.0f : *smoothing;
  double distances = 0;
  double total = 0;
  if (s != 0.0f) {
    for (int64 i = thread; i < count; i += kThreads) {
      distances += static_cast<double>((weights == nullptr ? 1.0f : weights[i]) * (largest - x[i]));
    }
    distances = combined<kThreads, Sum>(distances);
    total = sumOfWeights<kThreads>(weights, count);
  }
  if (thread != 0) return;
  statistics[2 * row] = largest;
  statistics[2 * row + 1] = static_cast<float>(1 / sum);
  const int64 label = classes[row];
  if (label == ignored) {
    losses[row] = 0;
    return;
  }
  if (!isInRange(label, count)) {
    refuse(refused, row, label);
    losses[row] = 0;
    return;
  }
  const double logarithm = log(sum);
  const double weight = weights == nullptr ? 1.0 : weights[label];
  double loss = weight * (logarithm - (static_cast<double>(x[label]) - largest));
  if (s != 0.0f) loss = (1 - static_cast<double>(s)) * loss + static_cast<double>(s) / count * (total * logarithm + distances);
  losses[row] = loss;
}
${rowKernelsText('classLoss', [
  ...['const T* logits', 'const int64* classes', 'const float* weights', 'const float* smoothing'],
  ...['double* losses', 'float* statistics', 'unsigned long long* refused', 'int64 count', 'int64 ignored'],
])}
// reduction: 0 none, 1 sum, 2 mean.
extern "C" __global__ void __launch_bounds__(kReductionThreads) reduceLosses(const double* losses, const int64* classes, const float* weights,
                                                                             float* result, float* divisor, int64 rows, int64 count, int64 ignored,
                                                                             int reduction) {
  double sum = 0;
  double total = 0;
  for (int64 row = threadIdx.x; row < rows; row += kReductionThreads) {
    const int64 label = classes[row];
    if (label != ignored) total += weights == nullptr || !isInRange(label, count) ? 1.0 : weights[label];
    if (reduction == 0) result[row] = static_cast<float>(losses[row]);
    else sum += losses[row];
  }
  total = combined<kReductionThreads, Sum>(total);
  sum = combined<kReductionThreads, Sum>(sum);
  if (threadIdx.x != 0) return;
  *divisor = static_cast<float>(total);
  if (reduction != 0) *result = static_cast<float>(reduction == 2 ? sum / total : sum);
}

template <int kThreads>
__device__ __forceinline__ void classLossGradient(const float* gradient, const T* logits, const int64* classes, const float* statistics,
                                                  const float* divisor, const float* weights, const float* smoothing, T* result, int64 count,
                                                  int64 ignored, int reduction, int64 row) {
  const int thread = threadIdx.x % kThreads;
  const T* const x = logits + row * count;
  T* const to = result + row * count;
  const float largest = statistics[2 * row];
  const double inverse = statistics[2 * row + 1];
  const int64 label = classes[row];
  const float s = smoothing == nullptr ? 0.0f : *smoothing;
  const double total = s == 0.0f ? 0.0 : sumOfWeights<kThreads>(weights, count);
  if (label == ignored || !isInRange(label, count)) {
    // 0, or NaN where a probability is NaN.
    const float none = static_cast<float>(inverse * 0);
    for (int64 i = thread; i < count; i += kThreads) to[i] = expf(x[i] - largest) * none;
    return;
  }
  const double each = static_cast<double>(gradient[reduction == 0 ? row : 0]) / (reduction == 2 ? static_cast<double>(*divisor) : 1.0);
  const double ofLabel = each * (1 - static_cast<double>(s)) * (weights == nullptr ? 1.0 : weights[label]);
  const double ofAll = each * s / count;
  const double ofProbabilities = ofLabel + ofAll * total;
  const float scale = static_cast<float>(ofProbabilities * inverse);
  const float share = static_cast<float>(ofAll);
  for (int64 i = thread; i < count; i += kThreads) {
    const float distance = x[i] - largest;
    float number = expf(distance) * scale;
    if (i == label) number = static_cast<float>(ofProbabilities * (exp(static_cast<double>(x[i]) - largest) * inverse) - ofLabel);
    // Rounded as the probability's part is, so that a gradient that is 0 stays 0: no fused multiplication and subtraction.
    if (s != 0.0f) number -= weights == nullptr ? share : __fmul_rn(share, weights[i]);
    to[i] = number;
  }
}
${rowKernelsText('classLossGradient', [
  ...['const float* gradient', 'const T* logits', 'const int64* classes', 'const float* statistics'],
  ...['const float* divisor', 'const float* weights', 'const float* smoothing', 'T* result'],
  ...['int64 count', 'int64 ignored', 'int reduction'],
])}`;

const kernels = typedKernels('softmax-cross-entropy', ['T'], body, [
  'classLossByWarp',
  'classLossByBlock',
  'reduceLosses',
  'classLossGradientByWarp',
  'classLossGradientByBlock',
]);

export const softmaxCrossEntropyKernels = kernels.all([{ T: 'float32' }, { T: 'bfloat16' }]);

const reductions = { none: 0, sum: 1, mean: 2 } as const;

type SoftmaxCrossEntropy = 'SoftmaxCrossEntropy' | 'SoftmaxCrossEntropyGradient';

export const softmaxCrossEntropies: LoweringFamily<SoftmaxCrossEntropy> = {
  SoftmaxCrossEntropy: ({ inputs: [logits, classes, ...rest], outputs, attributes }, lowering) => {
    const [rows, count] = logits.shape;
    const [loss, statistics, divisor] = outputs.map((output) => lowering.at(output));
    const [weights, smoothing] = optionsOf(rest, attributes, lowering);
    const losses = lowering.scratch(8 * rows);
    const refused = lowering.refusal((found) => {
      const { place, got } = refusedElement(found);
      return `softmaxCrossEntropy: expected classes from 0 to ${count - 1} or ignoreIndex, got ${got} in row ${place}`;
    });
    const [x, labels] = [lowering.at(logits), lowering.at(classes)];
    const own = [int64(count), int64(attributes.ignoreIndex)];
    const { classLossByWarp, classLossByBlock, reduceLosses } = kernels.of({ T: logits.dtype });
    const forRows = { warp: classLossByWarp, block: classLossByBlock };
    const arrays = [x, labels, weights, smoothing, losses, statistics, refused];
    launchRows(lowering, forRows, rows, count, [...arrays, ...own]);
    const reduction = int32(reductions[attributes.reduction]);
    const reduced = [losses, labels, weights, loss, divisor, int64(rows), ...own, reduction];
    launchBlock(lowering, reduceLosses, 256, reduced);
  },
  SoftmaxCrossEntropyGradient: ({ inputs, outputs: [result], attributes }, lowering) => {
    const [rows, count] = result.shape;
    const arrays = inputs.slice(0, 5).map((input) => lowering.at(input));
    const options = optionsOf(inputs.slice(5), attributes, lowering);
    const own = [int64(count), int64(attributes.ignoreIndex), int32(reductions[attributes.reduction])];
    const { classLossGradientByWarp: warp, classLossGradientByBlock: block } = kernels.of({
      T: result.dtype,
    });
    launchRows(lowering, { warp, block }, rows, count, [...arrays, ...options, lowering.at(result), ...own]);
  },
};

/** The weights and the smoothing. */
function optionsOf(
  rest: readonly Value[],
  { hasWeight, smooths }: SoftmaxCrossEntropyAttributes,
  lowering: Lowering,
) {
  return [
    hasWeight ? addressOf(lowering, rest[0]) : nullPointer,
    smooths ? addressOf(lowering, rest.at(-1)) : nullPointer,
  ];
}
