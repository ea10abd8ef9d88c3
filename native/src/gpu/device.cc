#include "gpu/device.h"

#include <map>
#include <mutex>

namespace ringrun {

const Device& Device::at(int index) {
  static std::mutex mutex;
  static std::map<int, const Device*>* const devices = new std::map<int, const Device*>;
  const std::lock_guard<std::mutex> lock(mutex);
  const Device*& device = (*devices)[index];
  if (device == nullptr) device = new Device(index);
  return *device;
}

Device::Device(int index) : index_(index) {
  const Cuda& cuda = Cuda::ofProcess();
  if (!cuda.problem().empty()) throw Failure(FailureCode::System, {}, cuda.problem());
  cuda.call(cuda.deviceGet, name(), &handle_, index);
  cuda.call(cuda.primaryContextRetain, name(), &context_, handle_);
}

void Device::makeCurrent() const {
  const Cuda& cuda = Cuda::ofProcess();
  cuda.call(cuda.setCurrentContext, name(), context_);
}

}  // namespace ringrun
