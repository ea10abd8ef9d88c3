#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "gpu/cuda_compute.h"
#include "gpu/stream.h"

namespace ringrun {

// Recorded work of a stream (cuGraphExec), which can be repeated with one call.
class GpuGraph {
 public:
  // Records what `enqueue` adds to the stream, instead of running it. Throws Failure. The device must be current.
  static std::unique_ptr<GpuGraph> record(const Device& device, const Stream& stream, const std::function<void()>& enqueue);

  GpuGraph(const GpuGraph&) = delete;
  GpuGraph& operator=(const GpuGraph&) = delete;
  ~GpuGraph();

  // Adds the recorded work to the stream. The device must be current.
  void launch(const Stream& stream) const;

  std::size_t nodes() const { return nodes_; }

 private:
  explicit GpuGraph(const Device& device) : device_(device) {}

  const Device& device_;
  CuGraphExec handle_ = nullptr;
  std::size_t nodes_ = 0;
};

}  // namespace ringrun
