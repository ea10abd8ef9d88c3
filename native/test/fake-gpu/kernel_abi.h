#pragma once

// Between kernels that the fake NVRTC has compiled (nvrtc/shim) and the fake driver that runs them (cuda/block.h). Includes
// nothing, because kernels see no standard header either.

namespace fake_gpu_kernel {

constexpr unsigned kVersion = 1;
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kWarpSize = 32;

struct Extent {
  unsigned x, y, z;
};

// A block that runs. Its threads run one after another on one thread of the host; one that waits for others pauses its fiber.
struct Block {
  Extent grid, block, index;
  unsigned threads;        // of the block
  unsigned started;        // number of threads that were started
  unsigned current;        // index of the thread that runs
  bool isReversed;         // starts the last thread first
  void* dynamicShared;
  bool ended[kMaxThreads];
  // Two values of each thread, written and read in turn by warp functions.
  unsigned long long values[kMaxThreads][2];
  unsigned char turn[kMaxThreads];
  // Waits for the other threads of the block.
  void (*awaitBlock)(Block*, int line);
  // Waits for the lanes of `mask` in the warp of the current thread.
  void (*awaitWarp)(Block*, unsigned mask, int line);
};

struct Kernel {
  const char* name;
  unsigned parameters;
  const unsigned* bytes;             // of each parameter
  const unsigned char* isPointer;    // of each parameter
  unsigned maxThreads;               // of __launch_bounds__, or kMaxThreads
  void (*runThreads)(void** arguments);  // starts threads of the module's block until all were started
};

// The symbol fakeGpuModule of a compiled module.
struct Module {
  unsigned version;
  unsigned count;
  const Kernel* kernels;
  Block** block;                 // receives the block that runs
  unsigned char* (*touchShared)();  // allocates static shared memory for the calling thread of the host
};

}  // namespace fake_gpu_kernel
