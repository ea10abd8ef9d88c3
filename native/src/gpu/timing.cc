#include "gpu/timing.h"

#include "gpu/cuda_compute.h"

namespace ringrun {

void GpuTimes::record(const Device& device, const Stream& stream) {
  points_.push_back(std::make_unique<Event>(device, kEventBlockingSync));
  stream.record(*points_.back());
}

std::vector<float> GpuTimes::milliseconds() const {
  const CudaCompute& cuda = CudaCompute::ofProcess();
  std::vector<float> times;
  for (std::size_t i = 1; i < points_.size(); ++i) {
    float time = 0;
    cuda.call(cuda.eventElapsedTime, "between two points of a stream", &time, points_[i - 1]->handle(), points_[i]->handle());
    times.push_back(time);
  }
  return times;
}

}  // namespace ringrun
