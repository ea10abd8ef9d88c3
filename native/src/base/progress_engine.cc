#include "base/progress_engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/thread_scheduling.h"

namespace ringrun {

struct ProgressEngine::JobRunner {
  Fiber fiber{[this] { runJobs(); }};
  Job job;
  WaitCondition condition;

  void runJobs() {
    for (;;) {
      while (job()) pauseUntil({});
      job = {};
      fiber.pause();
    }
  }

  // The default condition is a time in the past: the job continues in the next round.
  void pauseUntil(const WaitCondition& next) {
    condition = next;
    fiber.pause();
  }
};

namespace {

// The runner whose fiber the calling thread is on.
thread_local void* currentRunner = nullptr;

}  // namespace

// A process may have several Node environments (worker_threads). Their groups share the engine.
std::shared_ptr<ProgressEngine> ProgressEngine::shared() {
  static std::mutex mutex;
  static std::weak_ptr<ProgressEngine> engine;
  const std::lock_guard lock(mutex);
  auto existing = engine.lock();
  if (existing) return existing;
  auto fresh = std::make_shared<ProgressEngine>();
  engine = fresh;
  return fresh;
}

ProgressEngine::ProgressEngine() : thread_(&ProgressEngine::work, this) {}

ProgressEngine::~ProgressEngine() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  waiter_.notify();
  thread_.join();
}

void ProgressEngine::submit(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) idle_.push_back(std::make_unique<JobRunner>());
    submitted_.push_back(std::move(idle_.back()));
    idle_.pop_back();
    submitted_.back()->job = std::move(job);
  }
  waiter_.notify();
}

bool ProgressEngine::suspend(WaitCondition condition) {
  if (currentRunner == nullptr) return false;
  static_cast<JobRunner*>(currentRunner)->pauseUntil(condition);
  return true;
}

void ProgressEngine::work() {
  nameThread("ringrun");
  while (startSubmitted()) {
    resumeReady();
    conditions_.clear();
    for (const auto& runner : runners_) conditions_.push_back(&runner->condition);
    waiter_.awaitAny(conditions_);
  }
}

bool ProgressEngine::startSubmitted() {
  const std::lock_guard lock(mutex_);
  for (auto& runner : submitted_) {
    runner->condition.occurred = true;
    runners_.push_back(std::move(runner));
  }
  submitted_.clear();
  return !ending_;
}

void ProgressEngine::resumeReady() {
  for (const auto& runner : runners_) {
    if (!runner->condition.occurred) continue;
    currentRunner = runner.get();
    runner->fiber.resume();
    currentRunner = nullptr;
  }
  const auto hasMore = [](const auto& runner) { return runner->job != nullptr; };
  const auto done = std::stable_partition(runners_.begin(), runners_.end(), hasMore);
  if (done == runners_.end()) return;
  const std::lock_guard lock(mutex_);
  std::move(done, runners_.end(), std::back_inserter(idle_));
  runners_.erase(done, runners_.end());
}

}  // namespace ringrun
