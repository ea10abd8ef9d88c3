/** CUDA C++ that the tests of the fakes run, and that NVIDIA's NVRTC compiles too. */
export const saxpy = `
extern "C" __global__ void saxpy(const float* __restrict__ x, float* y, float a, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] += a * x[i];
}`;

export const reduction = `
__device__ float sumOfWarp(float value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(0xffffffff, value, lanes);
  return value;
}

extern "C" __global__ void __launch_bounds__(256) sumOfRows(const float* rows, float* sums, int columns) {
  __shared__ float ofWarps[8];
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += rows[blockIdx.x * columns + i];
  sum = sumOfWarp(sum);
  if (threadIdx.x % 32 == 0) ofWarps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (int i = 0; i < blockDim.x / 32; ++i) total += ofWarps[i];
    sums[blockIdx.x] = total;
  }
}

extern "C" __global__ void reversed(const float* from, float* to) {
  extern __shared__ float values[];
  values[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}`;

/** Everything of CUDA C++ that the fake NVRTC's header declares, in one kernel each. */
export const language = `
template <typename T>
__device__ __forceinline__ T clamp(T value, T low, T high) {
  return min(max(value, low), high);
}

__constant__ float kTable[3] = {1.0f, 2.0f, 4.0f};

struct __align__(8) Pair { float sum; int count; };

extern "C" __global__ void vectors(const float4* from, float4* to, float2* pairs, const uchar4* bytes) {
  const float4 value = from[threadIdx.x];
  to[threadIdx.x] = make_float4(value.w, value.z, value.y, value.x);
  const uchar4 four = bytes[threadIdx.x];
  Pair pair{float(four.x + four.y), four.z + four.w};
  pairs[threadIdx.x] = make_float2(pair.sum, pair.count * kTable[threadIdx.x % 3]);
}

extern "C" __global__ void arithmetic(const float* x, float* y, unsigned* bits) {
  const float v = x[threadIdx.x];
  const float sums[] = {
      expf(v), __expf(v), logf(fabsf(v) + 1), __logf(fabsf(v) + 1), log1pf(fabsf(v)), sqrtf(fabsf(v)), rsqrtf(fabsf(v) + 1), tanhf(v),
      erff(v), sinf(v), cosf(v), powf(fabsf(v), 1.5f), fmaf(v, v, 1.0f), __fmaf_rn(v, 2.0f, 1.0f), __fadd_rn(v, 1.0f), __fmul_rn(v, 3.0f),
      __fdividef(v, 3.0f), __frcp_rn(fabsf(v) + 1), fminf(v, 0.5f), fmaxf(v, -0.5f), floorf(v), ceilf(v), truncf(v), rintf(v), roundf(v),
      copysignf(1.0f, v), fmodf(v, 0.7f), float(isnan(v)), float(isinf(v)), float(isfinite(v)), clamp(v, -1.0f, 1.0f), exp2f(v), expm1f(v),
      __saturatef(v)};
  float sum = 0;
  for (int i = 0; i < int(sizeof(sums) / sizeof(sums[0])); ++i) sum += sums[i] * (i + 1);
  y[threadIdx.x] = sum;
  unsigned mixed = __float_as_uint(v);
  mixed ^= __umulhi(mixed, 0xD2511F53u) + __popc(mixed) + __clz(int(mixed)) + __ffs(int(mixed)) + __brev(mixed);
  mixed += unsigned(__float2int_rn(v)) + __float_as_int(v) + unsigned(long(__umul64hi(mixed * 0x100000001ull, 5)));
  bits[threadIdx.x] = mixed;
}

extern "C" __global__ void warps(const int* x, int* y) {
  const int lane = threadIdx.x % warpSize;
  int value = x[threadIdx.x];
  value += __shfl_sync(0xffffffff, value, 3);
  value += 2 * __shfl_up_sync(0xffffffff, value, 1);
  value += 3 * __shfl_down_sync(0xffffffff, value, 2, 8);
  value += 5 * __shfl_xor_sync(0xffffffff, value, 4);
  __syncwarp();
  value += __popc(__ballot_sync(0xffffffff, value % 2 == 0));
  value += __any_sync(0xffffffff, lane == 31) + 2 * __all_sync(0xffffffff, lane >= 0);
  value += __syncthreads_count(threadIdx.x % 3 == 0) + __syncthreads_or(threadIdx.x == 1) + __syncthreads_and(threadIdx.x < 2000);
  y[threadIdx.x] = value;
  atomicAdd(&y[blockDim.x], 1);
  atomicMax(&y[blockDim.x + 1], value);
}

extern "C" __global__ void blocks(int* to) {
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  to[block * blockDim.x * blockDim.y * blockDim.z + thread] = 1000 * block + thread;
}`;
