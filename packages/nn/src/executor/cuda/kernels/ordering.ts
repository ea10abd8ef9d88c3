import type { Node } from '../../../graph/node.ts';
import { sizeOf } from '../../../value-type.ts';
import type { Kernel, Lowering, LoweringFamily } from '../lowering.ts';
import { int32, int64, kernelsIn, launchElements } from './launches.ts';
import { sourceOf } from './prelude.ts';

/** Orders and sums of lines [outer, width, inner] along an axis. NaN is beyond both infinities. */
const bodyOf = (element: string) => `
typedef ${element} T;

__device__ __forceinline__ bool isNotANumber(float x) { return x != x; }
__device__ __forceinline__ bool isNotANumber(int64) { return false; }

// True if \`a\` comes before \`b\`, of another index: the larger or the smaller one, then the first. NaN is the largest, or comes first
// in any case if \`nanFirst\`.
__device__ __forceinline__ bool precedes(T a, T b, bool isEarlier, bool largest, bool nanFirst) {
  const bool aIsNaN = isNotANumber(a), bIsNaN = isNotANumber(b);
  if (aIsNaN || bIsNaN) return aIsNaN && bIsNaN ? isEarlier : aIsNaN == (largest || nanFirst);
  return a == b ? isEarlier : largest ? a > b : a < b;
}

// A warp has a line with an inner size of 1, and a thread any other line.
extern "C" __global__ void __launch_bounds__(128) firstOfRows(const T* x, int64* positions, int64 width, int largest, int64 rows) {
  const int64 row = static_cast<int64>(blockIdx.x) * 4 + threadIdx.x / 32;
  if (row >= rows) return;
  const int lane = threadIdx.x % 32;
  const T* const from = x + row * width;
  int64 best = lane < width ? lane : 0;
  T most = from[best];
  for (int64 i = lane + 32; i < width; i += 32) {
    if (!precedes(from[i], most, false, largest, true)) continue;
    best = i;
    most = from[i];
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const int64 other = __shfl_xor_sync(0xffffffffu, best, lanes);
    const T value = __shfl_xor_sync(0xffffffffu, most, lanes);
    if (other == best || !precedes(value, most, other < best, largest, true)) continue;
    best = other;
    most = value;
  }
  if (lane == 0) positions[row] = best;
}

extern "C" __global__ void __launch_bounds__(256) firstOfColumns(const T* x, int64* positions, int64 width, int64 inner, int largest, int64 count) {
  for (int64 line = firstElement(); line < count; line += gridStride()) {
    const T* const from = x + line / inner * width * inner + line % inner;
    int64 best = 0;
    for (int64 i = 1; i < width; ++i) {
      if (precedes(from[i * inner], from[best * inner], false, largest, true)) best = i;
    }
    positions[line] = best;
  }
}

// The rank of each element is its place in the result, if it is below k.
extern "C" __global__ void __launch_bounds__(256) topK(const T* x, T* values, int64* positions, int64 width, int64 inner, int64 k, int largest, int64 count) {
  for (int64 element = firstElement(); element < count; element += gridStride()) {
    const int64 outer = element / (width * inner), place = element / inner % width, column = element % inner;
    const T* const from = x + outer * width * inner + column;
    const T own = x[element];
    int64 rank = 0;
    for (int64 i = 0; i < width && rank < k; ++i) rank += i != place && precedes(from[i * inner], own, i < place, largest, false);
    if (rank >= k) continue;
    const int64 to = (outer * k + rank) * inner + column;
    values[to] = own;
    positions[to] = place;
  }
}

extern "C" __global__ void __launch_bounds__(256, 1) sumAlong(const T* x, T* sums, int64 width, int64 inner, int isReverse, int64 count) {
  for (int64 line = firstElement(); line < count; line += gridStride()) {
    const int64 first = line / inner * width * inner + line % inner;
    T sum = 0;
    for (int64 i = 0; i < width; ++i) {
      const int64 at = first + (isReverse ? width - 1 - i : i) * inner;
      sum += x[at];
      sums[at] = sum;
    }
  }
}
`;

const names = ['firstOfRows', 'firstOfColumns', 'topK', 'sumAlong'] as const;

const kernels = {
  float32: kernelsIn('ordering-float.cu', sourceOf(bodyOf('float')), names),
  int64: kernelsIn('ordering-int64.cu', sourceOf(bodyOf('int64')), names),
};

export const orderingKernels: readonly Kernel[] = Object.values(kernels).flatMap((all) => Object.values(all));

type Ordering = 'ArgMax' | 'ArgMin' | 'TopK' | 'CumSum';

export const ordering: LoweringFamily<Ordering> = {
  ArgMax: (node, lowering) => {
    lowerPosition(node, lowering, true);
  },
  ArgMin: (node, lowering) => {
    lowerPosition(node, lowering, false);
  },
  TopK: (node, lowering) => {
    const { axis, k, largest } = node.attributes;
    const arrays = [...node.inputs, ...node.outputs].map((value) => lowering.at(value));
    const [width, inner] = linesOf(node, axis);
    const args = [...arrays, int64(width), int64(inner), int64(k), int32(Number(largest))];
    launchElements(lowering, kernelsOf(node).topK, sizeOf(node.inputs[0].shape), args);
  },
  CumSum: (node, lowering) => {
    const { axis, reverse } = node.attributes;
    const arrays = [...node.inputs, ...node.outputs].map((value) => lowering.at(value));
    const [width, inner, count] = linesOf(node, axis);
    const args = [...arrays, int64(width), int64(inner), int32(Number(reverse))];
    if (width > 0) launchElements(lowering, kernelsOf(node).sumAlong, count, args);
  },
};

function lowerPosition(node: Node<'ArgMax' | 'ArgMin'>, lowering: Lowering, largest: boolean): void {
  const arrays = [...node.inputs, ...node.outputs].map((value) => lowering.at(value));
  const [width, inner, count] = linesOf(node, node.attributes.axis);
  const { firstOfRows, firstOfColumns } = kernelsOf(node);
  const isLargest = int32(Number(largest));
  if (inner > 1) {
    launchElements(lowering, firstOfColumns, count, [...arrays, int64(width), int64(inner), isLargest]);
  } else if (count > 0) {
    const args = [...arrays, int64(width), isLargest, int64(count)];
    lowering.launch(firstOfRows, [Math.ceil(count / 4), 1, 1], [128, 1, 1], args);
  }
}

function kernelsOf({ inputs: [{ dtype }] }: Node<Ordering>) {
  return dtype === 'int64' ? kernels.int64 : kernels.float32;
}

/** Length of the lines along an axis, elements behind it, and number of lines. */
function linesOf({ inputs: [{ shape }] }: Node, axis: number): [width: number, inner: number, count: number] {
  return [shape[axis], sizeOf(shape.slice(axis + 1)), sizeOf(shape.with(axis, 1))];
}
