#pragma once

// The beginning of every file that the fake NVRTC compiles: what NVRTC knows without a header. Nothing of the standard library, which
// kernels do not see either.
#include "kernel_abi.h"
#include "nvrtc/shim/vector_types.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)
// Threads of a block run on one thread of the host.
#define __shared__ static thread_local
#define __CUDA_ARCH__ 900
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1

typedef __SIZE_TYPE__ size_t;

static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace fake_gpu_kernel {

static Block* block;
static thread_local unsigned char firstShared;

inline unsigned char* touchShared() { return &firstShared; }

inline void setThread(unsigned thread) {
  block->current = thread;
  threadIdx = {thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y};
}

inline void awaitBlock(int line) {
  const uint3 self = threadIdx;
  block->awaitBlock(block, line);
  threadIdx = self;
}

inline void awaitWarp(unsigned mask, int line) {
  const uint3 self = threadIdx;
  block->awaitWarp(block, mask, line);
  threadIdx = self;
}

template <typename T>
struct IsPointer {
  static constexpr bool value = false;
};
template <typename T>
struct IsPointer<T*> {
  static constexpr bool value = true;
};

template <unsigned... indices>
struct Indices {};
template <unsigned count, unsigned... indices>
struct IndicesBelow : IndicesBelow<count - 1, count - 1, indices...> {};
template <unsigned... indices>
struct IndicesBelow<0, indices...> {
  using Type = Indices<indices...>;
};

template <auto kernel, typename Signature = decltype(kernel)>
struct Described;

template <auto kernel, typename... Parameters>
struct Described<kernel, void (*)(Parameters...)> {
  static constexpr unsigned bytes[] = {sizeof(Parameters)..., 0};
  static constexpr unsigned char isPointer[] = {IsPointer<Parameters>::value..., 0};

  template <unsigned... indices>
  static void call(void** arguments, Indices<indices...>) {
    kernel(*static_cast<Parameters*>(arguments[indices])...);
  }

  static void runThreads(void** arguments) {
    blockIdx = {block->index.x, block->index.y, block->index.z};
    blockDim = {block->block.x, block->block.y, block->block.z};
    gridDim = {block->grid.x, block->grid.y, block->grid.z};
    while (block->started < block->threads) {
      const unsigned next = block->started++;
      const unsigned thread = block->isReversed ? block->threads - 1 - next : next;
      setThread(thread);
      call(arguments, typename IndicesBelow<sizeof...(Parameters)>::Type{});
      block->ended[block->current] = true;
    }
  }

  static constexpr Kernel describe(const char* name, unsigned maxThreads) {
    return {name, sizeof...(Parameters), bytes, isPointer, maxThreads, &runThreads};
  }
};

}  // namespace fake_gpu_kernel

#include "nvrtc/shim/arithmetic.h"
#include "nvrtc/shim/threads.h"
