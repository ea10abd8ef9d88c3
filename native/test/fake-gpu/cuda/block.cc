#include "cuda/block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

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

// A fiber that starts threads of the block that runs, until one of them waits or all have started.
struct BlockRunner::Worker {
  Worker()
      : fiber([this] {
          for (;;) {
            current->kernel_.runThreads(current->arguments_);
            idle().push_back(std::move(current->running_));
            fiber.pause();
          }
        }) {}

  // Of this thread of the host. They serve all launches, because a new stack is three calls of the kernel of the system.
  static std::vector<std::unique_ptr<Worker>>& idle() {
    thread_local std::vector<std::unique_ptr<Worker>> workers;
    return workers;
  }

  static std::unique_ptr<Worker> next() {
    if (idle().empty()) return std::make_unique<Worker>();
    std::unique_ptr<Worker> worker = std::move(idle().back());
    idle().pop_back();
    return worker;
  }

  ringrun::Fiber fiber;
};

struct BlockRunner::Waiting {
  std::unique_ptr<Worker> worker;  // null: the thread does not wait
  int line = 0;
  bool isForBlock = false;
  unsigned mask = 0;
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
  waiting_.resize(state.threads);
  while (state.started < state.threads) resume(Worker::next());
  while (waitingCount_ > 0) {
    if (const std::string reason = resumeReady(); !reason.empty()) return reason;
  }
  return "";
}

void BlockRunner::resume(std::unique_ptr<Worker> worker) {
  running_ = std::move(worker);
  running_->fiber.resume();
}

// Resumes threads that wait for nothing more. Which do, is decided before any of them runs.
std::string BlockRunner::resumeReady() {
  std::vector<unsigned> ready = isBlockReady() ? allThreads() : readyLanes();
  if (ready.empty()) return problem();
  if (block_->isReversed) std::reverse(ready.begin(), ready.end());
  for (const unsigned thread : ready) {
    block_->current = thread;
    --waitingCount_;
    resume(std::move(waiting_[thread].worker));
  }
  return "";
}

// All threads of the block wait for each other in the same line.
bool BlockRunner::isBlockReady() const {
  return waitingCount_ == block_->threads && std::all_of(waiting_.begin(), waiting_.end(), [this](const Waiting& one) {
           return one.isForBlock && one.line == waiting_.front().line;
         });
}

std::vector<unsigned> BlockRunner::allThreads() const {
  std::vector<unsigned> threads(block_->threads);
  std::iota(threads.begin(), threads.end(), 0u);
  return threads;
}

std::vector<unsigned> BlockRunner::readyLanes() const {
  std::vector<unsigned> ready;
  unsigned readyMask = 0;
  for (unsigned thread = 0; thread < block_->threads; ++thread) {
    const unsigned lane = thread % kWarpSize;
    if (lane == 0) readyMask = 0;
    const Waiting& one = waiting_[thread];
    if (one.worker == nullptr || one.isForBlock) continue;
    // Lanes of one mask are ready together.
    if (!names(readyMask, lane) && isWarpReady(thread)) readyMask |= one.mask;
    if (names(readyMask, lane)) ready.push_back(thread);
  }
  return ready;
}

// All lanes of the mask that exist and have not ended wait with the same mask.
bool BlockRunner::isWarpReady(unsigned waiting) const {
  const Waiting& one = waiting_[waiting];
  const unsigned first = waiting / kWarpSize * kWarpSize;
  if (!names(one.mask, waiting % kWarpSize)) return false;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const unsigned thread = first + lane;
    if (!names(one.mask, lane) || thread >= block_->threads || block_->ended[thread]) continue;
    const Waiting& other = waiting_[thread];
    if (other.worker == nullptr || other.isForBlock || other.mask != one.mask || other.line != one.line) return false;
  }
  return true;
}

std::string BlockRunner::problem() const {
  const auto isWaiting = [](const Waiting& one) { return one.worker != nullptr; };
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), isWaiting);
  const Waiting& one = *found;
  const auto self = static_cast<unsigned>(found - waiting_.begin());
  std::string text = std::string("kernel ") + kernel_.name + ": thread " + std::to_string(self) + " waits in line " + std::to_string(one.line) +
                     (one.isForBlock ? " for all threads of its block" : " for lanes of its warp") + ", but ";
  if (!one.isForBlock && !names(one.mask, self % kWarpSize)) return text + "its mask does not name itself";
  for (unsigned thread = 0; thread < block_->threads; ++thread) {
    const Waiting& other = waiting_[thread];
    if (isWaiting(other) && other.line != one.line) {
      return text + "thread " + std::to_string(thread) + " waits in line " + std::to_string(other.line);
    }
  }
  for (unsigned thread = 0; thread < block_->threads; ++thread) {
    if (block_->ended[thread]) return text + "thread " + std::to_string(thread) + " has ended";
  }
  return text + "masks of the lanes differ";
}

void BlockRunner::pause(int line, bool isForBlock, unsigned mask) {
  const unsigned thread = block_->current;
  Worker* const self = running_.get();
  waiting_[thread] = {std::move(running_), line, isForBlock, mask};
  ++waitingCount_;
  self->fiber.pause();
  block_->current = thread;
}

void BlockRunner::awaitBlock(Block*, int line) { current->pause(line, true, 0); }

void BlockRunner::awaitWarp(Block*, unsigned mask, int line) { current->pause(line, false, mask); }

}  // namespace fake_cuda
