#pragma once

#include <string>

#include "nccl/cuda.h"

namespace ringrun {

// One GPU, in its primary context: the one that NCCL and every library on the CUDA runtime use too. Retained until the
// process ends, as the runtime does.
class Device {
 public:
  // `index` among those that CUDA_VISIBLE_DEVICES lets this process see. Lives until the process ends. Throws Failure. May be
  // called by every thread.
  static const Device& at(int index);

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int index() const { return index_; }

  // "GPU 0"
  std::string name() const { return "GPU " + std::to_string(index_); }

  // What follows on this thread concerns this GPU, until another one is made current: after every wait, since other
  // strands of the thread may have done that.
  void makeCurrent() const;

 private:
  explicit Device(int index);

  int index_;
  CuContext context_ = nullptr;
};

}  // namespace ringrun
