#include "cuda/block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fake_cuda {

using fake_gpu_kernel::Block;
using fake_gpu_kernel::Extent;
using fake_gpu_kernel::kWarpSize;

namespace {

// Shared memory is undefined at the start of a block: NaN, and −1.
constexpr int kUndefined = 0xff;

// The runner whose block runs on this thread.
thread_local BlockRunner* current = nullptr;

bool names(unsigned mask, unsigned lane) { return (mask >> lane & 1) != 0; }

}  // namespace

struct BlockRunner::Waiting {
  unsigned thread;
  int line;
  bool isForBlock;
  unsigned mask;
  Worker* worker;
};

struct BlockRunner::Worker {
  explicit Worker(std::function<void()> body) : fiber(std::move(body)) {}
  ringrun::Fiber fiber;
};

BlockRunner::BlockRunner(const fake_gpu_kernel::Module& module, const fake_gpu_kernel::Kernel& kernel, void* staticShared,
                         std::size_t staticBytes, std::size_t dynamicBytes)
    : module_(module),
      kernel_(kernel),
      staticShared_(staticShared),
      staticBytes_(staticBytes),
      dynamicBytes_(dynamicBytes),
      block_(std::make_unique<Block>()),
      // Of the exact size, so that AddressSanitizer sees accesses behind it.
      dynamic_(static_cast<unsigned char*>(std::malloc(std::max<std::size_t>(dynamicBytes, 1))), &std::free) {}

BlockRunner::~BlockRunner() = default;

BlockRunner::Worker& BlockRunner::idleWorker() {
  if (idle_.empty()) {
    workers_.push_back(std::make_unique<Worker>([this] {
      for (;;) {
        kernel_.runThreads(arguments_);
        Worker* const self = running_;
        idle_.push_back(self);
        self->fiber.pause();
      }
    }));
    return *workers_.back();
  }
  Worker* const worker = idle_.back();
  idle_.pop_back();
  return *worker;
}

std::string BlockRunner::run(Extent grid, Extent block, Extent index, void** arguments, bool isReversed) {
  Block& state = *block_;
  state.grid = grid, state.block = block, state.index = index;
  state.threads = block.x * block.y * block.z;
  state.started = 0;
  state.isReversed = isReversed;
  state.dynamicShared = dynamic_.get();
  state.awaitBlock = &BlockRunner::awaitBlock;
  state.awaitWarp = &BlockRunner::awaitWarp;
  std::fill_n(state.ended, state.threads, false);
  std::fill_n(state.turn, state.threads, static_cast<unsigned char>(0));
  std::memset(dynamic_.get(), kUndefined, dynamicBytes_);
  if (staticBytes_ > 0) std::memset(staticShared_, kUndefined, staticBytes_);
  arguments_ = arguments;
  current = this;
  *module_.block = &state;
  while (state.started < state.threads) {
    running_ = &idleWorker();
    running_->fiber.resume();
  }
  while (!waiting_.empty()) {
    if (const std::string reason = resumeReady(); !reason.empty()) return reason;
  }
  return "";
}

// Resumes threads that wait for nothing more. Which do, is decided before any of them runs.
std::string BlockRunner::resumeReady() {
  std::vector<Waiting> ready;
  std::vector<Waiting> others;
  for (const Waiting& one : waiting_) (isReady(one) ? ready : others).push_back(one);
  if (ready.empty()) return problem();
  for (const Waiting& one : ready) {
    if (one.isForBlock && one.line != ready.front().line) return problem();
  }
  waiting_ = std::move(others);
  const bool isReversed = block_->isReversed;
  std::sort(ready.begin(), ready.end(),
            [isReversed](const Waiting& a, const Waiting& b) { return isReversed ? a.thread > b.thread : a.thread < b.thread; });
  for (const Waiting& one : ready) {
    block_->current = one.thread;
    running_ = one.worker;
    one.worker->fiber.resume();
  }
  return "";
}

bool BlockRunner::isReady(const Waiting& one) const {
  if (!one.isForBlock) return isWarpReady(one);
  return waiting_.size() == block_->threads &&
         std::all_of(waiting_.begin(), waiting_.end(), [](const Waiting& other) { return other.isForBlock; });
}

// All lanes of the mask that exist and have not ended wait with the same mask.
bool BlockRunner::isWarpReady(const Waiting& one) const {
  const unsigned first = one.thread / kWarpSize * kWarpSize;
  if (!names(one.mask, one.thread % kWarpSize)) return false;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const unsigned thread = first + lane;
    if (!names(one.mask, lane) || thread >= block_->threads || block_->ended[thread]) continue;
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [thread](const Waiting& other) { return other.thread == thread; });
    if (found == waiting_.end() || found->isForBlock || found->mask != one.mask || found->line != one.line) return false;
  }
  return true;
}

std::string BlockRunner::problem() const {
  const Waiting& one = waiting_.front();
  std::string text = std::string("kernel ") + kernel_.name + ": thread " + std::to_string(one.thread) + " waits in line " +
                     std::to_string(one.line) + (one.isForBlock ? " for all threads of its block" : " for lanes of its warp") + ", but ";
  if (!one.isForBlock && !names(one.mask, one.thread % kWarpSize)) return text + "its mask does not name itself";
  for (const Waiting& other : waiting_) {
    if (other.line != one.line) return text + "thread " + std::to_string(other.thread) + " waits in line " + std::to_string(other.line);
  }
  for (unsigned thread = 0; thread < block_->threads; ++thread) {
    if (block_->ended[thread]) return text + "thread " + std::to_string(thread) + " has ended";
  }
  return text + "masks of the lanes differ";
}

void BlockRunner::pause(Waiting reason) {
  reason.thread = block_->current;
  Worker* const self = reason.worker = running_;
  waiting_.push_back(reason);
  self->fiber.pause();
  block_->current = reason.thread;
}

void BlockRunner::awaitBlock(Block*, int line) { current->pause({0, line, true, 0, nullptr}); }

void BlockRunner::awaitWarp(Block*, unsigned mask, int line) { current->pause({0, line, false, mask, nullptr}); }

}  // namespace fake_cuda
