import type { Node } from '../../../graph/node.ts';
import { sizeOf } from '../../../value-type.ts';
import type { Lowering, LoweringFamily } from '../lowering.ts';
import { int32, int64, launchElements, launchRows, rowKernelsText, typedKernels } from './launches.ts';

/**
 * Rows [rows, width] along the last axis; or columns [outer, width, inner], of which neighbouring threads compute neighbouring ones.
 * Elements are `T`. `kind`: 0 softmax, 1 softmax with 0 for rows of −∞, 2 logarithm of softmax.
 */
const body = `
// Of x − base and Σ exp(x − base).
__device__ __forceinline__ float resultOf(float distance, float sum, float logarithm, int kind) {
  if (kind == 2) return distance - logarithm;
  return kind == 1 && sum == 0.0f ? 0.0f : expf(distance) / sum;
}

// A row of −∞ is NaN, except for kind 1.
__device__ __forceinline__ float baseOf(float largest, int kind) { return kind == 1 && largest == -kInfinity ? 0.0f : largest; }

template <int kThreads>
__device__ __forceinline__ void softmax(const T* x, T* y, int64 width, int kind, int64 row) {
  const int thread = threadIdx.x % kThreads;
  const T* const from = x + row * width;
  T* const to = y + row * width;
  float largest = -kInfinity;
  for (int64 i = thread; i < width; i += kThreads) largest = Largest()(largest, static_cast<float>(from[i]));
  const float base = baseOf(combined<kThreads, Largest>(largest), kind);
  float sum = 0.0f;
  for (int64 i = thread; i < width; i += kThreads) sum += expf(from[i] - base);
  sum = combined<kThreads, Sum>(sum);
  const float logarithm = logf(sum);
  for (int64 i = thread; i < width; i += kThreads) to[i] = resultOf(from[i] - base, sum, logarithm, kind);
}
${rowKernelsText('softmax', ['const T* x', 'T* y', 'int64 width', 'int kind'])}
extern "C" __global__ void __launch_bounds__(256) softmaxOfColumns(const T* x, T* y, int64 width, int64 inner, int kind, int64 columns) {
  for (int64 column = firstElement(); column < columns; column += gridStride()) {
    const int64 first = column / inner * width * inner + column % inner;
    float largest = -kInfinity;
    for (int64 i = 0; i < width; ++i) largest = Largest()(largest, static_cast<float>(x[first + i * inner]));
    const float base = baseOf(largest, kind);
    float sum = 0.0f;
    for (int64 i = 0; i < width; ++i) sum += expf(x[first + i * inner] - base);
    const float logarithm = logf(sum);
    for (int64 i = 0; i < width; ++i) y[first + i * inner] = resultOf(x[first + i * inner] - base, sum, logarithm, kind);
  }
}
`;

const names = ['softmaxByWarp', 'softmaxByBlock', 'softmaxOfColumns'] as const;

const kernels = typedKernels('softmax', ['T'], body, names);

export const softmaxKernels = kernels.all([{ T: 'float32' }, { T: 'bfloat16' }]);

type Softmax = 'Softmax' | 'SafeSoftmax' | 'LogSoftmax';

export const softmaxes: LoweringFamily<Softmax> = {
  Softmax: (node, lowering) => {
    lower(node, lowering, node.attributes.axis, 0);
  },
  SafeSoftmax: (node, lowering) => {
    lower(node, lowering, node.inputs[0].shape.length - 1, 1);
  },
  LogSoftmax: (node, lowering) => {
    lower(node, lowering, node.attributes.axis, 2);
  },
};

function lower({ inputs: [x], outputs: [y] }: Node, lowering: Lowering, axis: number, kind: number): void {
  const width = x.shape[axis];
  const inner = sizeOf(x.shape.slice(axis + 1));
  const count = sizeOf(x.shape);
  if (count === 0) return;
  const { softmaxByWarp, softmaxByBlock, softmaxOfColumns } = kernels.of({ T: x.dtype });
  const arrays = [lowering.at(x), lowering.at(y), int64(width)];
  if (inner === 1) {
    const rows = { warp: softmaxByWarp, block: softmaxByBlock };
    launchRows(lowering, rows, count / width, width, [...arrays, int32(kind)]);
  } else {
    launchElements(lowering, softmaxOfColumns, count / width, [...arrays, int64(inner), int32(kind)]);
  }
}
