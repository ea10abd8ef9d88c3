#pragma once

#include <memory>

#include "base/notifier.h"
#include "gpu/device.h"

namespace ringrun {

// A point in the work of a stream (cuEvent).
class Event {
 public:
  explicit Event(const Device& device);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  // True if the stream has passed the last recorded point, or if none was recorded. Throws Failure if earlier
  // work failed.
  bool hasPassed() const;

  CuEvent handle() const { return handle_; }

 private:
  const Device& device_;
  CuEvent handle_ = nullptr;
};

// A GPU stream. Its functions enqueue work and never wait. The device must be current and outlive the stream.
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

  // Later work of this stream starts after the currently recorded point of `event`.
  void waitFor(const Event& event) const;

  // Notifies, on a thread of the driver, when all current work is done. Not called after an error, which
  // Event::hasPassed() reports: check that too.
  void notifyWhenDone(std::shared_ptr<const Notifier> notifier) const;

  CuStream handle() const { return handle_; }

 private:
  const Device& device_;
  CuStream handle_ = nullptr;
};

}  // namespace ringrun
