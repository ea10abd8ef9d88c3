#include "base/engine.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ringrun {

struct Engine::Strand {
  Fiber fiber{[this] { runJobs(); }};
  Job job;
  Reason reason;

  void runJobs() {
    for (;;) {
      while (job()) pauseUntil({});
      job = {};
      fiber.pause();
    }
  }

  // The default reason is a moment in the past: the next turn.
  void pauseUntil(const Reason& next) {
    reason = next;
    fiber.pause();
  }
};

namespace {

// The strand that the calling thread is on. Strands know nothing of each other, so this need not be kept when one
// pauses.
thread_local void* currentStrand = nullptr;

void nameThread() {
#ifdef __linux__
  ::pthread_setname_np(::pthread_self(), "ringrun");
#elif defined(__APPLE__)
  ::pthread_setname_np("ringrun");
#endif
}

}  // namespace

// A process may have several Node environments (worker_threads), whose groups share the engine.
std::shared_ptr<Engine> Engine::shared() {
  static std::mutex mutex;
  static std::weak_ptr<Engine> engine;
  const std::lock_guard lock(mutex);
  auto existing = engine.lock();
  if (existing) return existing;
  auto fresh = std::make_shared<Engine>();
  engine = fresh;
  return fresh;
}

Engine::Engine() : thread_(&Engine::work, this) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  sleeper_.ring();
  thread_.join();
}

void Engine::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) idle_.push_back(std::make_unique<Strand>());
    submitted_.push_back(std::move(idle_.back()));
    idle_.pop_back();
    submitted_.back()->job = std::move(job);
  }
  sleeper_.ring();
}

bool Engine::suspend(Reason reason) {
  if (currentStrand == nullptr) return false;
  static_cast<Strand*>(currentStrand)->pauseUntil(reason);
  return true;
}

void Engine::work() {
  nameThread();
  while (startSubmitted()) {
    resumeThoseWhoCan();
    reasons_.clear();
    for (const auto& strand : strands_) reasons_.push_back(&strand->reason);
    sleeper_.awaitAny(reasons_);
  }
}

bool Engine::startSubmitted() {
  const std::lock_guard lock(mutex_);
  for (auto& strand : submitted_) {
    strand->reason.occurred = true;
    strands_.push_back(std::move(strand));
  }
  submitted_.clear();
  return !ending_;
}

void Engine::resumeThoseWhoCan() {
  for (const auto& strand : strands_) {
    if (!strand->reason.occurred) continue;
    currentStrand = strand.get();
    strand->fiber.resume();
    currentStrand = nullptr;
  }
  const auto hasMore = [](const auto& strand) { return strand->job != nullptr; };
  const auto done = std::stable_partition(strands_.begin(), strands_.end(), hasMore);
  if (done == strands_.end()) return;
  const std::lock_guard lock(mutex_);
  std::move(done, strands_.end(), std::back_inserter(idle_));
  strands_.erase(done, strands_.end());
}

}  // namespace ringrun
