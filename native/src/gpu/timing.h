#pragma once

#include <memory>
#include <vector>

#include "gpu/stream.h"

namespace ringrun {

// Times between points of a stream, as the GPU passes them.
class GpuTimes {
 public:
  // Records a point. The device must be current.
  void record(const Device& device, const Stream& stream);

  // Milliseconds from each point to the next, after the stream has passed the last. Throws Failure.
  std::vector<float> milliseconds() const;

 private:
  std::vector<std::unique_ptr<Event>> points_;
};

}  // namespace ringrun
