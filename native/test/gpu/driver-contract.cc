// What the CUDA driver refuses, with its error numbers: the fake driver must refuse the same. Prints one line for each case;
// driver-contract.test.ts has the expected ones. Runs on a real GPU too.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <thread>

#include "gpu/cuda_compute.h"
#include "gpu/device.h"
#include "gpu/nvrtc.h"
#include "gpu/stream.h"

namespace {

using ringrun::CuResult;

const ringrun::Cuda& cuda = ringrun::Cuda::ofProcess();
const ringrun::CudaCompute& compute = ringrun::CudaCompute::ofProcess();
constexpr int kGlobal = 0;

const ringrun::Device& device() { return ringrun::Device::at(0); }

void report(const char* name, std::initializer_list<CuResult> results) {
  std::printf("%s:", name);
  for (const CuResult result : results) std::printf(" %d", result);
  std::printf("\n");
}

CuResult onOtherThread(const std::function<CuResult()>& call) {
  CuResult result = 0;
  std::thread([&] {
    device().makeCurrent();
    result = call();
  }).join();
  return result;
}

struct Captured {
  ringrun::Stream stream{device()};
  ringrun::CuGraph graph = nullptr;
  ringrun::CuPointer memory = 0;

  explicit Captured(int mode) {
    cuda.memAlloc(&memory, 256);
    compute.streamBeginCapture(stream.handle(), mode);
    cuda.memset8(memory, 1, 256, stream.handle());
  }
  CuResult end() { return compute.streamEndCapture(stream.handle(), &graph); }
  CuResult allocate() {
    ringrun::CuPointer more = 0;
    return cuda.memAlloc(&more, 256);
  }
  std::size_t nodes() {
    std::size_t count = 0;
    compute.graphGetNodes(graph, nullptr, &count);
    return count;
  }
};

void unsafeCalls() {
  Captured global(kGlobal);
  const CuResult elsewhere = onOtherThread([&] { return global.allocate(); });
  report("allocate during a global capture, on another thread; end", {elsewhere, global.end()});
  Captured own(ringrun::kCaptureThreadLocal);
  const CuResult other = onOtherThread([&] { return own.allocate(); });
  report("allocate during a thread-local capture, on another thread; on its own; end", {other, own.allocate(), own.end()});
  Captured waiting(ringrun::kCaptureThreadLocal);
  const CuResult synchronized = compute.streamSynchronize(waiting.stream.handle());
  report("synchronize a captured stream; end", {synchronized, waiting.end()});
}

void endings() {
  Captured one(ringrun::kCaptureThreadLocal);
  const CuResult elsewhere = onOtherThread([&] { return one.end(); });
  report("end a thread-local capture on another thread; on its own", {elsewhere, one.end()});
  report("nodes of the graph", {static_cast<CuResult>(one.nodes())});
}

void forks() {
  const ringrun::Stream side(device());
  const ringrun::Event forked(device()), joined(device()), outside(device());
  Captured lost(ringrun::kCaptureThreadLocal);
  lost.stream.record(forked);
  side.waitFor(forked);
  side.clear(reinterpret_cast<void*>(lost.memory), 256);
  report("end with a fork that was not joined", {lost.end()});
  Captured whole(ringrun::kCaptureThreadLocal);
  whole.stream.record(forked);
  side.waitFor(forked);
  side.clear(reinterpret_cast<void*>(whole.memory), 256);
  side.record(joined);
  whole.stream.waitFor(joined);
  ringrun::CuGraph none = nullptr;
  const CuResult inFork = compute.streamEndCapture(side.handle(), &none);
  const CuResult inOrigin = whole.end();
  report("end in the fork; in the origin; query a captured event", {inFork, inOrigin, cuda.eventQuery(joined.handle())});
  Captured isolated(ringrun::kCaptureThreadLocal);
  onOtherThread([&] { return cuda.eventRecord(outside.handle(), side.handle()); });
  report("wait for an event outside; end", {cuda.streamWaitEvent(isolated.stream.handle(), outside.handle(), 0), isolated.end()});
}

void graphs() {
  Captured one(ringrun::kCaptureThreadLocal);
  const CuResult ended = one.end();
  ringrun::CuGraphExec exec = nullptr;
  const CuResult made = compute.graphInstantiate(&exec, one.graph, 0ull);
  report("end; instantiate; launch twice; wait", {ended, made, compute.graphLaunch(exec, one.stream.handle()),
                                                  compute.graphLaunch(exec, one.stream.handle()), compute.streamSynchronize(one.stream.handle())});
}

void modules() {
  const std::string source = "extern \"C\" __global__ void nothing(float* x) { x[0] = 0; }";
  const auto load = [&](const std::string& image) {
    ringrun::CuModule module = nullptr;
    return compute.moduleLoadData(&module, image.data());
  };
  int major = 0;
  compute.deviceGetAttribute(&major, ringrun::kComputeCapabilityMajor, device().handle());
  const int other = major == 8 ? 90 : 80;
  report("load a cubin for another GPU; garbage", {load(ringrun::Nvrtc::ofProcess().compile(source, "nothing.cu", other).cubin),
                                                   load(std::string(4096, 'x'))});
}

void timing() {
  const ringrun::Stream stream(device());
  const ringrun::Event untimed(device()), timed(device(), 0);
  stream.record(untimed);
  stream.record(timed);
  stream.synchronize();
  float milliseconds = 0;
  report("elapsed time of an event without timing", {compute.eventElapsedTime(&milliseconds, untimed.handle(), timed.handle())});
}

// A process of its own reads memory of the GPU.
void hostAccess() {
  ringrun::CuPointer memory = 0;
  cuda.memAlloc(&memory, 4096);
  const pid_t child = ::fork();
  if (child == 0) {
    const volatile char value = *reinterpret_cast<const char*>(memory);
    ::_exit(value == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  std::printf("the host reads memory of a GPU: %s\n", WIFSIGNALED(status) || WEXITSTATUS(status) > 1 ? "crashes" : "succeeds");
}

}  // namespace

int main() {
  device().makeCurrent();
  unsafeCalls();
  endings();
  forks();
  graphs();
  modules();
  timing();
  std::fflush(stdout);
  hostAccess();
  return 0;
}
