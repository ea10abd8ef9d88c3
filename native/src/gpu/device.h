#pragma once

#include <string>

#include "gpu/cuda.h"

namespace ringrun {

// One GPU in its primary context, which NCCL and all libraries on the CUDA runtime share. Retained until the
// process ends, as by the runtime.
class Device {
 public:
  // `index`: among the GPUs visible to this process. The result lives until the process ends. Throws Failure.
  // May be called by any thread.
  static const Device& at(int index);

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int index() const { return index_; }
  CuDevice handle() const { return handle_; }

  // "GPU 0"
  std::string name() const { return "GPU " + std::to_string(index_); }

  // Makes this GPU current on this thread. Must be repeated after every wait, because other fibers of the
  // thread may make another one current.
  void makeCurrent() const;

 private:
  explicit Device(int index);

  int index_;
  CuDevice handle_ = 0;
  CuContext context_ = nullptr;
};

}  // namespace ringrun
