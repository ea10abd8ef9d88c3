import { sizeOf } from '../../../value-type.ts';
import type { LoweringFamily } from '../lowering.ts';
import { int64, launchElements, typedKernels } from './launches.ts';
import { philox } from './philox.ts';

const body = `${philox}
// A thread has the four elements of a counter.
extern "C" __global__ void __launch_bounds__(256) dropOut(const T* x, const int64* numbers, const float* factor, T* y, int64 count,
                                                          int64 counters) {
  const Mask mask(numbers, factor);
  for (int64 counter = firstElement(); counter < counters; counter += gridStride()) {
    const Numbers drawn = numbersOf(mask.key, static_cast<unsigned long long>(counter));
    const int64 first = counter / 64 * 256 + counter % 64;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const int64 i = first + 64 * w;
      if (i < count) y[i] = x[i] * mask.factorOf(drawn.of[w]);
    }
  }
}
`;

const kernels = typedKernels('dropout', ['T'], body, ['dropOut']);

export const dropoutKernels = kernels.all([{ T: 'float32' }, { T: 'bfloat16' }]);

export const dropouts: LoweringFamily<'Dropout'> = {
  Dropout: ({ inputs, outputs: [y] }, lowering) => {
    const count = sizeOf(y.shape);
    const args = [...inputs.map((input) => lowering.at(input)), lowering.at(y), int64(count)];
    launchElements(lowering, kernels.of({ T: y.dtype }).dropOut, Math.ceil(count / 256) * 64, args);
  },
};
