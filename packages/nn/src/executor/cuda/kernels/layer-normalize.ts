import type { LayerNormalizeAttributes } from '../../../graph/attributes.ts';
import type { Value } from '../../../graph/node.ts';
import { sizeOf } from '../../../value-type.ts';
import type { LoweringFamily } from '../lowering.ts';
import {
  addressOf,
  float32,
  int32,
  int64,
  launchElements,
  launchRows,
  nullPointer,
  rowKernelsText,
  typedKernels,
} from './launches.ts';

/**
 * y = z·weight + bias with z = (x − mean)·inverse, inverse = 1 / √(variance + epsilon). With g = dy·weight and m the mean over a
 * row: dx = (g − m(g) − z·m(g·z))·inverse + other; the weight receives Σ dy·z and the bias Σ dy over the rows. All but the weight,
 * the bias and their gradients are `T`.
 */
const body = `
template <int kThreads>
__device__ __forceinline__ void layerNormalize(const T* x, const float* weight, const float* bias, T* y, float* statistics, int64 width,
                                               float epsilon, int64 row) {
  const int thread = threadIdx.x % kThreads;
  const T* const from = x + row * width;
  T* const to = y + row * width;
  float sum = 0.0f;
  for (int64 i = thread; i < width; i += kThreads) sum += from[i];
  const float mean = combined<kThreads, Sum>(sum) / static_cast<float>(width);
  float squares = 0.0f;
  for (int64 i = thread; i < width; i += kThreads) squares += (from[i] - mean) * (from[i] - mean);
  const float variance = combined<kThreads, Sum>(squares) / static_cast<float>(width);
  const float inverse = static_cast<float>(1 / sqrt(static_cast<double>(variance) + static_cast<double>(epsilon)));
  for (int64 i = thread; i < width; i += kThreads) {
    float z = (from[i] - mean) * inverse;
    if (weight != nullptr) z *= weight[i];
    if (bias != nullptr) z += bias[i];
    to[i] = z;
  }
  if (thread != 0) return;
  statistics[2 * row] = mean;
  statistics[2 * row + 1] = inverse;
}
${rowKernelsText('layerNormalize', [
  ...['const T* x', 'const float* weight', 'const float* bias', 'T* y', 'float* statistics'],
  ...['int64 width', 'float epsilon'],
])}
template <int kThreads>
__device__ __forceinline__ void rowGradient(const T* dy, const T* x, const float* statistics, const float* weight, const T* other, T* dx,
                                            int64 width, int64 row) {
  const int thread = threadIdx.x % kThreads;
  const int64 first = row * width;
  const float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
  float sum = 0.0f, products = 0.0f;
  for (int64 i = thread; i < width; i += kThreads) {
    const float g = dy[first + i] * (weight == nullptr ? 1.0f : weight[i]);
    sum += g;
    products += g * ((x[first + i] - mean) * inverse);
  }
  const float meanOfGradients = combined<kThreads, Sum>(sum) / static_cast<float>(width);
  const float meanOfProducts = combined<kThreads, Sum>(products) / static_cast<float>(width);
  for (int64 i = thread; i < width; i += kThreads) {
    const float z = (x[first + i] - mean) * inverse;
    // Rounded, so that a row of one element has a gradient of exactly 0: a fused difference would leave its rounding error.
    const float g = __fmul_rn(dy[first + i], weight == nullptr ? 1.0f : weight[i]);
    const float result = (g - meanOfGradients - z * meanOfProducts) * inverse;
    dx[first + i] = other == nullptr ? result : result + other[first + i];
  }
}
${rowKernelsText('rowGradient', [
  ...['const T* dy', 'const T* x', 'const float* statistics', 'const float* weight', 'const T* other'],
  ...['T* dx', 'int64 width'],
])}
// Sums of a part of the rows, [parts, 2, width]: a block has 32 columns of one part.
extern "C" __global__ void __launch_bounds__(256) sumsOfRows(const T* dy, const T* x, const float* statistics, float* sums, int64 rows,
                                                             int64 width) {
  __shared__ float ofWeight[8][32], ofBias[8][32];
  const int lane = threadIdx.x, warp = threadIdx.y;
  const int64 column = static_cast<int64>(blockIdx.x) * 32 + lane;
  const int64 begin = rows * blockIdx.y / gridDim.y, end = rows * (blockIdx.y + 1) / gridDim.y;
  float products = 0.0f, sum = 0.0f;
  if (column < width) {
    for (int64 row = begin + warp; row < end; row += 8) {
      const float d = dy[row * width + column];
      products += d * ((x[row * width + column] - statistics[2 * row]) * statistics[2 * row + 1]);
      sum += d;
    }
  }
  ofWeight[warp][lane] = products;
  ofBias[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || column >= width) return;
  // Terms of both signs may cancel, and what is left would have the rounding of larger numbers.
  double weightSum = products, biasSum = sum;
  for (int i = 1; i < 8; ++i) {
    weightSum += ofWeight[i][lane];
    biasSum += ofBias[i][lane];
  }
  float* const to = sums + 2 * blockIdx.y * width;
  to[column] = static_cast<float>(weightSum);
  to[width + column] = static_cast<float>(biasSum);
}

extern "C" __global__ void __launch_bounds__(256) sumOfParts(const float* sums, float* dWeight, float* dBias, int parts, int64 width) {
  for (int64 column = firstElement(); column < width; column += gridStride()) {
    double ofWeight = 0, ofBias = 0;
    for (int part = 0; part < parts; ++part) {
      ofWeight += sums[2 * part * width + column];
      ofBias += sums[(2 * part + 1) * width + column];
    }
    dWeight[column] = static_cast<float>(ofWeight);
    dBias[column] = static_cast<float>(ofBias);
  }
}
`;

const kernels = typedKernels('layer-normalize', ['T'], body, [
  ...(['layerNormalizeByWarp', 'layerNormalizeByBlock', 'rowGradientByWarp', 'rowGradientByBlock'] as const),
  ...(['sumsOfRows', 'sumOfParts'] as const),
]);

export const layerNormalizeKernels = kernels.all([{ T: 'float32' }, { T: 'bfloat16' }]);

export const layerNormalization: LoweringFamily<'LayerNormalize' | 'LayerNormalizeGradient'> = {
  LayerNormalize: ({ inputs: [x, ...options], outputs: [y, statistics], attributes }, lowering) => {
    const [rows, width] = rowsOf(x, attributes);
    if (width === 0) return;
    const { hasWeight, hasBias, epsilon } = attributes;
    const weight = hasWeight ? lowering.at(options[0]) : nullPointer;
    const bias = addressOf(lowering, hasBias ? options.at(-1) : undefined);
    const typed = kernels.of({ T: x.dtype });
    const forRows = { warp: typed.layerNormalizeByWarp, block: typed.layerNormalizeByBlock };
    const arrays = [lowering.at(x), weight, bias, lowering.at(y), lowering.at(statistics)];
    launchRows(lowering, forRows, rows, width, [...arrays, int64(width), float32(epsilon)]);
  },
  LayerNormalizeGradient: ({ inputs, outputs: [dx, dWeight, dBias], attributes }, lowering) => {
    const [dy, x, statistics] = inputs.map((input) => lowering.at(input));
    const typed = kernels.of({ T: inputs[1].dtype });
    const [rows, width] = rowsOf(inputs[1], attributes);
    if (width === 0) return;
    if (lowering.isRead(dx)) {
      const weight = attributes.hasWeight ? lowering.at(inputs[3]) : nullPointer;
      const other = addressOf(lowering, attributes.adds ? inputs.at(-1) : undefined);
      const forRows = { warp: typed.rowGradientByWarp, block: typed.rowGradientByBlock };
      const arrays = [dy, x, statistics, weight, other, lowering.at(dx)];
      launchRows(lowering, forRows, rows, width, [...arrays, int64(width)]);
    }
    if (!lowering.isRead(dWeight) && !lowering.isRead(dBias)) return;
    const blocks = Math.ceil(width / 32);
    const parts = partsOf(rows, blocks);
    const sums = lowering.scratch(8 * parts * width);
    const args = [dy, x, statistics, sums, int64(rows), int64(width)];
    if (parts > 0) lowering.launch(typed.sumsOfRows, [blocks, parts, 1], [32, 8, 1], args);
    const totals = [sums, lowering.at(dWeight), lowering.at(dBias), int32(parts)];
    launchElements(lowering, typed.sumOfParts, width, totals);
  },
};

function rowsOf({ shape }: Value, { axes }: LayerNormalizeAttributes): [rows: number, width: number] {
  return [sizeOf(shape.slice(0, -axes)), sizeOf(shape.slice(-axes))];
}

/** Parts of at least 32 rows, as many as keep a GPU busy. */
function partsOf(rows: number, blocks: number): number {
  return Math.min(Math.ceil(rows / 32), Math.max(1, Math.ceil(528 / blocks)));
}
