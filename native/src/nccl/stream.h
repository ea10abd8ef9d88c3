#pragma once

#include <memory>

#include "base/notifier.h"
#include "nccl/device.h"

namespace ringrun {

// A point in the work of a stream.
class Event {
 public:
  explicit Event(const Device& device);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  // Whether the stream has come to where it was recorded last; true before the first time. Throws Failure for an error of
  // what came before it.
  bool hasPassed() const;

  CuEvent handle() const { return handle_; }

 private:
  const Device& device_;
  CuEvent handle_ = nullptr;
};

// Work that a GPU does in the order in which it was given; what is given here never waits. The device is current, and
// outlives it.
class Stream {
 public:
  explicit Stream(const Device& device);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  void copyToDevice(void* to, const void* from, std::size_t bytes) const;
  void copyToHost(void* to, const void* from, std::size_t bytes) const;
  void copyOnDevice(void* to, const void* from, std::size_t bytes) const;
  void clear(void* data, std::size_t bytes) const;

  void record(const Event& event) const;

  // What follows begins when `event` has passed on its own stream, as it is recorded now.
  void waitFor(const Event& event) const;

  // Rings when everything given so far is done, on a thread of the driver. Not after an error, which Event::hasPassed()
  // tells: so nobody may rely on the notifier alone.
  void notifyWhenDone(std::shared_ptr<const Notifier> notifier) const;

  CuStream handle() const { return handle_; }

 private:
  const Device& device_;
  CuStream handle_ = nullptr;
};

}  // namespace ringrun
