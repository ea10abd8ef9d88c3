import { sizeOf } from '../../../value-type.ts';
import type { Kernel, Lowering, LoweringFamily } from '../lowering.ts';
import { kernelsIn, nullPointer } from './launches.ts';
import { sourceOf } from './prelude.ts';
import { refusedElement } from './refusals.ts';

/**
 * Connectionist temporal classification (Graves and others, 2006), in double precision. A block has a sample. Its states are the
 * classes of the target with blanks before, between and after them.
 */
const source = sourceOf(`
struct Sizes {
  int64 times, samples, classes;
  // Targets of a row, or 0 if those of all samples are concatenated, and of all samples.
  int64 perSample, total;
  // States that memory has for each sample.
  int64 mostStates;
  int64 blank;
  int64 zeroInfinity;
};

#define kNever (-static_cast<double>(kInfinity))

// log(exp a + exp b)
__device__ __forceinline__ double logSum(double a, double b) {
  const double most = a < b ? b : a, least = a < b ? a : b;
  return least == kNever ? most : most + log1p(exp(least - most));
}

// The length of a sequence; 0 if it is refused.
__device__ __forceinline__ int64 lengthOf(const int64* lengths, int64 sample, int64 most, unsigned long long* refused) {
  const int64 length = lengths[sample];
  if (length >= 0 && length <= most) return length;
  refuse(refused, sample, length);
  return 0;
}

extern "C" __global__ void __launch_bounds__(256, 1) ctcLoss(const float* x, const int64* targets, const int64* inputLengths, const int64* targetLengths,
                                                          float* losses, float* gradients, double* memory, unsigned long long* refusedInput,
                                                          unsigned long long* refusedTarget, unsigned long long* refusedClass,
                                                          unsigned long long* refusedTotal, const __grid_constant__ Sizes sizes) {
  const int64 n = blockIdx.x, thread = threadIdx.x, stride = sizes.samples * sizes.classes;
  x += n * sizes.classes;
  int64 start = n * sizes.perSample, most = sizes.perSample;
  if (most == 0) {
    for (int64 k = 0; k < n; ++k) start += max(targetLengths[k], static_cast<int64>(0));
    most = max(sizes.total - start, static_cast<int64>(0));
  }
  const int64 times = lengthOf(inputLengths, n, sizes.times, refusedInput);
  const int64 length = lengthOf(targetLengths, n, most, refusedTarget);
  if (thread == 0 && sizes.perSample == 0 && n + 1 == sizes.samples && start + length != sizes.total) refuse(refusedTotal, 0, start + length);
  const int64* const target = targets + start;
  for (int64 u = thread; u < length; u += 256) {
    if (target[u] < 0 || target[u] >= sizes.classes) refuse(refusedClass, n, target[u]);
  }
  const int64 states = 2 * length + 1;
  const auto classOf = [&](int64 state) {
    const int64 one = state % 2 == 0 ? sizes.blank : target[state / 2];
    return one < 0 || one >= sizes.classes ? sizes.blank : one;
  };
  // True if a blank between this state and the one before the last may be skipped.
  const auto skips = [&](int64 state) { return state >= 2 && state % 2 == 1 && classOf(state) != classOf(state - 2); };
  double* const alpha = memory + n * (sizes.times + 2) * sizes.mostStates;
  for (int64 t = 0; t < times; ++t) {
    double* const now = alpha + t * sizes.mostStates;
    const double* const before = now - sizes.mostStates;
    for (int64 s = thread; s < states; s += 256) {
      double sum = kNever;
      if (t == 0) {
        if (s < 2) sum = 0;
      } else {
        sum = before[s];
        if (s > 0) sum = logSum(sum, before[s - 1]);
        if (skips(s)) sum = logSum(sum, before[s - 2]);
      }
      now[s] = sum + x[t * stride + classOf(s)];
    }
    __syncthreads();
  }
  double probability = kNever;
  if (times == 0) {
    probability = states == 1 ? 0 : kNever;
  } else {
    const double* const last = alpha + (times - 1) * sizes.mostStates;
    probability = logSum(last[states - 1], states > 1 ? last[states - 2] : kNever);
  }
  const bool isIgnored = sizes.zeroInfinity && probability == kNever;
  if (thread == 0) losses[n] = static_cast<float>(isIgnored ? 0 : -probability);
  if (gradients == nullptr) return;
  gradients += n * sizes.classes;
  double* const ends = alpha + sizes.times * sizes.mostStates;
  for (int64 t = sizes.times - 1; t >= 0; --t) {
    float* const result = gradients + t * stride;
    const bool isOver = isIgnored || t >= times;
    // Classes without a state, which never occur: NaN if the target has no probability.
    for (int64 c = thread; c < sizes.classes; c += 256) {
      const float never = probability > kNever ? static_cast<float>(exp(static_cast<double>(x[t * stride + c]))) : kNaN;
      result[c] = isOver ? 0.0f : never;
    }
    if (isOver) continue;
    double* const beta = ends + t % 2 * sizes.mostStates;
    const double* const later = ends + (t + 1) % 2 * sizes.mostStates;
    for (int64 s = thread; s < states; s += 256) {
      double sum = kNever;
      if (t + 1 == times) {
        if (s + 2 >= states) sum = 0;
      } else {
        sum = later[s];
        if (s + 1 < states) sum = logSum(sum, later[s + 1]);
        if (s + 2 < states && skips(s + 2)) sum = logSum(sum, later[s + 2]);
      }
      beta[s] = sum + x[t * stride + classOf(s)];
    }
    __syncthreads();
    // The first state of a class adds all of them, in order.
    for (int64 s = thread; s < states; s += 256) {
      const int64 own = classOf(s);
      bool isFirst = true;
      for (int64 k = 0; k < s && isFirst; ++k) isFirst = classOf(k) != own;
      if (!isFirst) continue;
      double sum = kNever;
      for (int64 k = s; k < states; ++k) {
        if (classOf(k) == own) sum = logSum(sum, alpha[t * sizes.mostStates + k] + beta[k]);
      }
      // α and β both contain x.
      const double one = x[t * stride + own];
      result[own] = static_cast<float>(exp(one) - exp(sum - probability - one));
    }
    __syncthreads();
  }
}
`);

const kernels = kernelsIn('ctc-loss.cu', source, ['ctcLoss']);

export const ctcLossKernels: readonly Kernel[] = Object.values(kernels);

export const sequenceLosses: LoweringFamily<'CtcLoss'> = {
  CtcLoss: ({ inputs, outputs, attributes: { blank, zeroInfinity } }, lowering) => {
    const [times, samples, classes] = inputs[0].shape;
    const targets = inputs[1].shape;
    if (samples === 0) return;
    const total = sizeOf(targets);
    const perSample = targets.length === 2 ? targets[1] : 0;
    const mostStates = 2 * (targets.length === 2 ? perSample : total) + 1;
    const memory = lowering.scratch(8 * samples * (times + 2) * mostStates);
    const refusals = [
      refusalOf(
        lowering,
        (got, sample) => `expected input lengths from 0 to ${times}, got ${got} in sample ${sample}`,
      ),
      refusalOf(
        lowering,
        (got, sample) =>
          `expected target lengths ${targets.length === 2 ? `from 0 to ${perSample}` : `within ${total} targets`}, got ${got} in sample ${sample}`,
      ),
      refusalOf(
        lowering,
        (got, sample) => `expected targets from 0 to ${classes - 1}, got ${got} in sample ${sample}`,
      ),
      refusalOf(
        lowering,
        (got) => `expected targets as long as the sum of their lengths, ${got}, got ${total}`,
      ),
    ];
    const [losses, gradients] = outputs;
    const arrays = [...inputs, losses].map((value) => lowering.at(value));
    const to = lowering.isRead(gradients) ? lowering.at(gradients) : nullPointer;
    const isConcatenated = targets.length === 1 || perSample === 0;
    const numbers = [times, samples, classes, isConcatenated ? 0 : perSample, isConcatenated ? total : 0];
    const longs = [...numbers, mostStates, blank, Number(zeroInfinity)];
    const bytes = new Uint8Array(BigInt64Array.from(longs, BigInt).buffer);
    const args = [...arrays, to, memory, ...refusals, { bytes }];
    lowering.launch(kernels.ctcLoss, [samples, 1, 1], [256, 1, 1], args);
  },
};

function refusalOf(lowering: Lowering, describe: (got: string, sample: number) => string) {
  return lowering.refusal((found) => {
    const { place, got } = refusedElement(found);
    return `ctcLoss: ${describe(got, place)}`;
  });
}
