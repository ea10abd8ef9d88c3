import { tooFewValues } from '../../../ops/collective.ts';
import { sizeOf } from '../../../value-type.ts';
import type { Kernel, LoweringFamily } from '../lowering.ts';
import { float32, int32, kernelsIn, launchElements } from './launches.ts';
import { sourceOf } from './prelude.ts';

const source = sourceOf(`
// Mean and variance of each channel, and the number of values: what a rank sends.
extern "C" __global__ void __launch_bounds__(256) packStatistics(const float* mean, const float* variance, float* message, float values,
                                                                 int64 channels) {
  for (int64 i = firstElement(); i < channels; i += gridStride()) {
    message[i] = mean[i];
    message[channels + i] = variance[i];
  }
  if (firstElement() == 0) message[2 * channels] = values;
}

// Combines the messages of all ranks, in double precision and in the order of the ranks, so that all of them compute the same bits
// (Chan, Golub and LeVeque 1979, for several parts at once). The mean of zero values is undefined. A cell that is not 0: fewer than
// 2 values; 1 + the rank that has one, or 1 + the number of ranks.
extern "C" __global__ void __launch_bounds__(256) combineStatistics(const float* messages, float* mean, float* variance, float* total,
                                                                    unsigned long long* refused, int ranks, int64 channels) {
  const int64 width = 2 * channels + 1;
  double values = 0.0;
  int only = ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    const float own = messages[rank * width + 2 * channels];
    if (own > 0.0f) only = rank;
    values += own;
  }
  for (int64 i = firstElement(); i < channels; i += gridStride()) {
    double sum = 0.0;
    for (int rank = 0; rank < ranks; ++rank) {
      const float* const message = messages + rank * width;
      const double own = message[2 * channels];
      if (own > 0.0) sum += own * static_cast<double>(message[i]);
    }
    const double center = sum / values;
    double spread = 0.0;
    for (int rank = 0; rank < ranks; ++rank) {
      const float* const message = messages + rank * width;
      const double own = message[2 * channels];
      const double distance = static_cast<double>(message[i]) - center;
      if (own > 0.0) spread += own * (static_cast<double>(message[channels + i]) + distance * distance);
    }
    mean[i] = static_cast<float>(center);
    variance[i] = static_cast<float>(spread / values);
  }
  if (firstElement() != 0) return;
  *total = static_cast<float>(values);
  if (values < 2.0) *refused = 1 + only;
}
`);

const kernels = kernelsIn('collectives.cu', source, ['packStatistics', 'combineStatistics']);

export const collectiveKernels: readonly Kernel[] = Object.values(kernels);

/** Collectives of a graph: an exchange between the commands before and after it. */
export const collectives: LoweringFamily<'AllReduce' | 'AllGather' | 'CombineStatistics'> = {
  AllReduce: ({ inputs: [x], outputs: [sum] }, lowering) => {
    const length = sizeOf(x.shape);
    const at = lowering.at(sum);
    const bytes = 4 * length;
    if (bytes > 0) lowering.add({ kind: 'copy', name: 'allReduce', from: lowering.at(x), to: at, bytes });
    lowering.exchange({ name: 'allReduce', send: at, receive: at, length });
  },
  AllGather: ({ inputs: [x], outputs: [all] }, lowering) => {
    const [send, receive] = [lowering.at(x), lowering.at(all)];
    lowering.exchange({ name: 'allGather', send, receive, length: sizeOf(x.shape) });
  },
  CombineStatistics: ({ inputs, outputs, attributes: { count, group } }, lowering) => {
    const [mean, variance] = inputs;
    const channels = sizeOf(mean.shape);
    const length = 2 * channels + 1;
    const send = lowering.scratch(4 * length);
    const receive = lowering.scratch(4 * length * group.size);
    const grid = Math.max(channels, 1);
    const args = [lowering.at(mean), lowering.at(variance), send, float32(count)];
    launchElements(lowering, kernels.packStatistics, grid, args, channels);
    lowering.exchange({ name: 'allGather', send, receive, length });
    const ranks = group.size;
    const refused = lowering.refusal((found) => tooFewValues(countsOf(Number(found) - 1, ranks)));
    const combined = outputs.map((output) => lowering.at(output));
    launchElements(
      lowering,
      kernels.combineStatistics,
      grid,
      [receive, ...combined, refused, int32(ranks)],
      channels,
    );
  },
};

/** Of fewer than 2 values, of which a rank may have one. */
function countsOf(only: number, ranks: number): readonly number[] {
  return Array.from({ length: ranks }, (_, rank) => Number(rank === only));
}
