#include "gpu/graph.h"

namespace ringrun {
namespace {

// The graph of a capture, from which an executable one is made.
struct Captured {
  CuGraph handle = nullptr;
  ~Captured() {
    if (handle != nullptr) CudaCompute::ofProcess().graphDestroy(handle);
  }
};

}  // namespace

std::unique_ptr<GpuGraph> GpuGraph::record(const Device& device, const Stream& stream, const std::function<void()>& enqueue) {
  const CudaCompute& cuda = CudaCompute::ofProcess();
  Captured captured;
  cuda.call(cuda.streamBeginCapture, device.name(), stream.handle(), kCaptureThreadLocal);
  const std::optional<Failure> failure = failureOf(enqueue);
  if (failure) {
    // Ends the capture, which is invalid.
    cuda.streamEndCapture(stream.handle(), &captured.handle);
    throw Failure(*failure);
  }
  cuda.call(cuda.streamEndCapture, device.name(), stream.handle(), &captured.handle);
  std::unique_ptr<GpuGraph> graph(new GpuGraph(device));
  cuda.call(cuda.graphGetNodes, device.name(), captured.handle, static_cast<CuGraphNode*>(nullptr), &graph->nodes_);
  cuda.call(cuda.graphInstantiate, device.name(), &graph->handle_, captured.handle, 0ull);
  return graph;
}

GpuGraph::~GpuGraph() {
  if (handle_ != nullptr && !failureOf([&] { device_.makeCurrent(); })) CudaCompute::ofProcess().graphExecDestroy(handle_);
}

void GpuGraph::launch(const Stream& stream) const {
  const CudaCompute& cuda = CudaCompute::ofProcess();
  cuda.call(cuda.graphLaunch, device_.name(), handle_, stream.handle());
}

}  // namespace ringrun
