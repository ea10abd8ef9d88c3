import type { DType } from '../../../dtype.ts';
import { bfloat16Source, memoryTypes } from '../element-types.ts';

/**
 * The beginning of every hand-written kernel. NVRTC can include no header, so everything that kernels share is here.
 *
 * Sums have an order that depends only on shapes, so their bits are equal in every run: threads of a row add their elements in
 * order, then lanes by halves, then warps in order.
 */
const prelude = `${bfloat16Source}
typedef long long int64;

#define kInfinity __int_as_float(0x7f800000)
#define kNaN __int_as_float(0x7fc00000)

struct Sum {
  template <typename T>
  __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};
// Without NaN.
struct Largest {
  template <typename T>
  __device__ __forceinline__ T operator()(T a, T b) const { return b > a ? b : a; }
};

// The values of all threads of a warp (kThreads is 32) or of a block, combined. All of them call it.
template <int kThreads, typename Combine, typename T>
__device__ __forceinline__ T combined(T value) {
  const Combine combine;
  for (int lanes = 16; lanes > 0; lanes /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  if constexpr (kThreads > 32) {
    __shared__ T ofWarps[kThreads / 32];
    if (threadIdx.x % 32 == 0) ofWarps[threadIdx.x / 32] = value;
    __syncthreads();
    value = ofWarps[0];
    for (int warp = 1; warp < kThreads / 32; ++warp) value = combine(value, ofWarps[warp]);
    __syncthreads();
  }
  return value;
}

// Records an element that cannot be used, in a cell that is 0 otherwise. Of several, the first stays. refusals.ts reads it: its two
// words have the upper and the lower half of the element, each below the place, so that both are of the same element.
__device__ __forceinline__ void refuse(unsigned long long* cell, int64 place, int64 element) {
  constexpr int64 kMost = 0x7fffffff;
  const unsigned long long near = static_cast<unsigned long long>(kMost - min(place, kMost - 1)) << 32;
  atomicMax(cell, near | static_cast<unsigned>(element));
  atomicMax(cell + 1, near | static_cast<unsigned>(element >> 32));
}

// The position of this thread in the grid, and the number of its threads, for loops over elements.
__device__ __forceinline__ int64 firstElement() { return static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ int64 gridStride() { return static_cast<int64>(gridDim.x) * blockDim.x; }
`;

/**
 * A source that begins with the prelude.
 *
 * @param types names of types in the body, of elements in memory. Default: none.
 */
export function sourceOf(body: string, types: Readonly<Record<string, DType>> = {}): string {
  const typedefs = Object.entries(types).map(([name, dtype]) => `typedef ${memoryTypes[dtype]} ${name};\n`);
  return prelude + typedefs.join('') + body;
}
