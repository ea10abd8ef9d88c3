#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "fake_gpu.h"

namespace fake_cuda {

struct Capture;

// What an event has recorded: a point that a stream passes.
class Point {
 public:
  void pass();
  void await();
  bool hasPassed();
  std::chrono::steady_clock::time_point time();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool passed_ = false;
  std::chrono::steady_clock::time_point time_;
};

using Task = std::function<void()>;

// Adds work to a stream, or to the graph that the stream captures. Returns an error of CUresult.
int enqueue(FakeStream* stream, Task task);

// Adds work even if the stream captures.
void enqueueNow(FakeStream* stream, Task task);

}  // namespace fake_cuda

// A thread that carries out tasks one after another.
struct FakeStream {
  int device = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<fake_cuda::Task> tasks;
  bool ending = false;
  bool isBusy = false;
  // While it is captured: the capture, and the nodes after which its next node runs. Guarded by the captures' mutex.
  std::shared_ptr<fake_cuda::Capture> capture;
  std::vector<std::size_t> captureTails;
};

struct FakeEvent {
  bool hasTiming = false;
  std::mutex mutex;
  std::shared_ptr<fake_cuda::Point> point;  // guarded by mutex; null before the first record
  // If it was last recorded in a captured stream: that capture and the nodes before it. Guarded by the captures' mutex.
  std::shared_ptr<fake_cuda::Capture> capture;
  std::vector<std::size_t> captureTails;
};
