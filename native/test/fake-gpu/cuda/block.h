#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fiber.h"
#include "kernel_abi.h"

namespace fake_cuda {

// Runs blocks of a kernel on the calling thread. A thread of a block that calls __syncthreads or a warp function runs on a fiber,
// where it waits for the others. One fiber starts all threads of a block if none waits.
//
// Stricter than a GPU: all threads of a block must reach the same __syncthreads, in the same line; likewise all lanes of a
// warp function, with the same mask.
class BlockRunner {
 public:
  // `staticShared`: the module's static shared memory on this thread of the host.
  BlockRunner(const fake_gpu_kernel::Module& module, const fake_gpu_kernel::Kernel& kernel, void* staticShared, std::size_t staticBytes,
              std::size_t dynamicBytes);
  ~BlockRunner();

  // Returns the reason why the block cannot go on; empty if all of its threads have ended. `isReversed`: its last thread runs
  // first.
  std::string run(fake_gpu_kernel::Extent grid, fake_gpu_kernel::Extent block, fake_gpu_kernel::Extent index, void** arguments,
                  bool isReversed);

 private:
  struct Waiting;
  struct Worker;

  static void awaitBlock(fake_gpu_kernel::Block*, int line);
  static void awaitWarp(fake_gpu_kernel::Block*, unsigned mask, int line);

  void resume(std::unique_ptr<Worker> worker);
  void pause(int line, bool isForBlock, unsigned mask);
  std::string resumeReady();
  bool isBlockReady() const;
  std::vector<unsigned> allThreads() const;
  std::vector<unsigned> readyLanes() const;
  bool isWarpReady(unsigned waiting) const;
  std::string problem() const;

  const fake_gpu_kernel::Module& module_;
  const fake_gpu_kernel::Kernel& kernel_;
  void* const staticShared_;
  const std::size_t staticBytes_;
  const std::size_t dynamicBytes_;
  void** arguments_ = nullptr;
  std::unique_ptr<fake_gpu_kernel::Block> block_;
  std::unique_ptr<unsigned char[], void (*)(void*)> dynamic_;
  // Of each thread of the block.
  std::vector<Waiting> waiting_;
  unsigned waitingCount_ = 0;
  std::unique_ptr<Worker> running_;
};

}  // namespace fake_cuda
