#include "gpu/stream.h"

#include <utility>

#include "gpu/cuda_compute.h"

namespace ringrun {
namespace {

CuPointer pointerOf(const void* data) { return reinterpret_cast<CuPointer>(data); }

std::string describeCopy(const char* direction, std::size_t bytes) {
  return withThousandsSeparated(bytes) + " bytes " + direction;
}

}  // namespace

Event::Event(const Device& device, unsigned flags) : device_(device) {
  const Cuda& cuda = Cuda::ofProcess();
  cuda.call(cuda.eventCreate, device.name(), &handle_, flags);
}

Event::~Event() {
  if (!failureOf([&] { device_.makeCurrent(); })) Cuda::ofProcess().eventDestroy(handle_);
}

bool Event::hasPassed() const {
  const Cuda& cuda = Cuda::ofProcess();
  device_.makeCurrent();
  const CuResult result = cuda.eventQuery(handle_);
  if (result == kCudaSuccess) return true;
  if (result == kCudaNotReady) return false;
  throw Failure(FailureCode::System, {}, "work on " + device_.name() + " failed: " + cuda.describe(result));
}

void Event::await() const {
  const CudaCompute& cuda = CudaCompute::ofProcess();
  device_.makeCurrent();
  cuda.call(cuda.eventSynchronize, "work on " + device_.name(), handle_);
}

Stream::Stream(const Device& device) : device_(device) {
  const Cuda& cuda = Cuda::ofProcess();
  cuda.call(cuda.streamCreate, device.name(), &handle_, kStreamNonBlocking);
}

// Does not wait: the stream's work still runs, and the driver frees the stream afterwards.
Stream::~Stream() {
  if (!failureOf([&] { device_.makeCurrent(); })) Cuda::ofProcess().streamDestroy(handle_);
}

void Stream::copyToDevice(void* to, const void* from, std::size_t bytes) const {
  const Cuda& cuda = Cuda::ofProcess();
  cuda.call(cuda.memcpyHostToDevice, describeCopy("to the GPU", bytes), pointerOf(to), from, bytes, handle_);
}

void Stream::copyToHost(void* to, const void* from, std::size_t bytes) const {
  const Cuda& cuda = Cuda::ofProcess();
  cuda.call(cuda.memcpyDeviceToHost, describeCopy("from the GPU", bytes), to, pointerOf(from), bytes, handle_);
}

void Stream::copyOnDevice(void* to, const void* from, std::size_t bytes) const {
  const Cuda& cuda = Cuda::ofProcess();
  cuda.call(cuda.memcpyDeviceToDevice, describeCopy("on the GPU", bytes), pointerOf(to), pointerOf(from), bytes, handle_);
}

void Stream::fill(void* data, unsigned char value, std::size_t bytes) const {
  const Cuda& cuda = Cuda::ofProcess();
  cuda.call(cuda.memset8, device_.name(), pointerOf(data), value, bytes, handle_);
}

void Stream::synchronize() const {
  const CudaCompute& cuda = CudaCompute::ofProcess();
  cuda.call(cuda.streamSynchronize, "work on " + device_.name(), handle_);
}

void Stream::record(const Event& event) const {
  const Cuda& cuda = Cuda::ofProcess();
  cuda.call(cuda.eventRecord, device_.name(), event.handle(), handle_);
}

void Stream::waitFor(const Event& event) const {
  const Cuda& cuda = Cuda::ofProcess();
  cuda.call(cuda.streamWaitEvent, device_.name(), handle_, event.handle(), 0u);
}

// The driver's callback owns a reference to the notifier, because it may run after all other owners were destroyed.
// If it never runs, some bytes and two descriptors leak with the GPU's context.
void Stream::notifyWhenDone(std::shared_ptr<const Notifier> notifier) const {
  const Cuda& cuda = Cuda::ofProcess();
  auto sent = std::make_unique<std::shared_ptr<const Notifier>>(std::move(notifier));
  const CuHostFunction ring = [](void* data) {
    const std::unique_ptr<std::shared_ptr<const Notifier>> received(static_cast<std::shared_ptr<const Notifier>*>(data));
    (*received)->notify();
  };
  cuda.call(cuda.launchHostFunction, device_.name(), handle_, ring, static_cast<void*>(sent.get()));
  static_cast<void>(sent.release());
}

}  // namespace ringrun
