#pragma once

#include <memory>

#include "base/notifier.h"
#include "gpu/device.h"

namespace ringrun {

// A point in the work of a stream (cuEvent).
class Event {
 public:
  // `flags`: kEventDisableTiming, and kEventBlockingSync for waiting without spinning.
  explicit Event(const Device& device, unsigned flags = kEventDisableTiming);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  // True if the stream has passed the last recorded point, or if none was recorded. Throws Failure if earlier
  // work failed.
  bool hasPassed() const;

  // Blocks the calling thread until the stream has passed the last recorded point. Throws Failure if earlier work failed.
  void await() const;

  CuEvent handle() const { return handle_; }

 private:
  const Device& device_;
  CuEvent handle_ = nullptr;
};

// A GPU stream. Its functions enqueue work and never wait, except synchronize(). The device must be current and outlive the stream.
class Stream {
 public:
  explicit Stream(const Device& device);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  void copyToDevice(void* to, const void* from, std::size_t bytes) const;
  void copyToHost(void* to, const void* from, std::size_t bytes) const;
  void copyOnDevice(void* to, const void* from, std::size_t bytes) const;
  void fill(void* data, unsigned char value, std::size_t bytes) const;
  void clear(void* data, std::size_t bytes) const { fill(data, 0, bytes); }

  void record(const Event& event) const;

  // Blocks the calling thread until all current work is done. Throws Failure if it failed.
  void synchronize() const;

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
