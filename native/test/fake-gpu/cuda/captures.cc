// Stream capture and graphs.
#include "cuda/captures.h"

#include <algorithm>
#include <set>
#include <thread>

#include "cuda/driver.h"
#include "cuda/memory.h"

namespace fake_cuda {

enum CaptureMode { Global = 0, ThreadLocal = 1, Relaxed = 2 };

struct Node {
  Task task;
  std::vector<std::size_t> after;  // nodes that run before
};

struct Capture {
  CaptureMode mode;
  std::thread::id thread;
  FakeStream* origin;
  std::vector<FakeStream*> streams;  // the origin and streams that have joined
  std::vector<Node> nodes;
  bool isInvalid = false;
};

namespace {

struct Captures {
  std::mutex mutex;
  std::set<std::shared_ptr<Capture>> all;
};

Captures& captures() {
  static Captures* const all = new Captures;
  return *all;
}

void merge(std::vector<std::size_t>& tails, const std::vector<std::size_t>& more) {
  tails.insert(tails.end(), more.begin(), more.end());
  std::sort(tails.begin(), tails.end());
  tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
}

// True if every node runs before the end of the origin.
bool isJoined(const Capture& capture) {
  std::vector<bool> isBefore(capture.nodes.size());
  for (const std::size_t tail : capture.origin->captureTails) isBefore[tail] = true;
  for (std::size_t i = capture.nodes.size(); i-- > 0;) {
    if (!isBefore[i]) return false;
    for (const std::size_t before : capture.nodes[i].after) isBefore[before] = true;
  }
  return true;
}

}  // namespace

bool isRefusedByCapture() {
  const std::lock_guard<std::mutex> lock(captures().mutex);
  for (const auto& capture : captures().all) {
    const bool isOwn = capture->thread == std::this_thread::get_id();
    if (capture->mode == Relaxed || (capture->mode == ThreadLocal && !isOwn)) continue;
    capture->isInvalid = true;
    return true;
  }
  return false;
}

std::optional<int> captureInstead(FakeStream& stream, const Task& task) {
  const std::lock_guard<std::mutex> lock(captures().mutex);
  if (!stream.capture) return std::nullopt;
  Capture& capture = *stream.capture;
  if (capture.isInvalid) return kCaptureInvalidated;
  capture.nodes.push_back({task, stream.captureTails});
  stream.captureTails = {capture.nodes.size() - 1};
  return kSuccess;
}

bool captureRecord(FakeEvent& event, FakeStream& stream) {
  const std::lock_guard<std::mutex> lock(captures().mutex);
  event.capture = stream.capture;
  event.captureTails = stream.captureTails;
  return event.capture != nullptr;
}

std::optional<int> captureWait(FakeStream& stream, FakeEvent& event) {
  const std::lock_guard<std::mutex> lock(captures().mutex);
  if (!stream.capture && !event.capture) return std::nullopt;
  // An event outside, or of a capture that has ended.
  if (!event.capture || captures().all.count(event.capture) == 0) {
    if (!stream.capture) return kInvalidValue;
    stream.capture->isInvalid = true;
    return kCaptureIsolation;
  }
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->isInvalid = event.capture->isInvalid = true;
    return kCaptureMerge;
  }
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.captureTails.clear();
    event.capture->streams.push_back(&stream);
  }
  merge(stream.captureTails, event.captureTails);
  return kSuccess;
}

std::optional<int> refusalOfCaptured(const FakeEvent& event) {
  const std::lock_guard<std::mutex> lock(captures().mutex);
  if (event.capture == nullptr) return std::nullopt;
  return event.capture->isInvalid ? kInvalidValue : kCapturedEvent;
}

bool isCapturing(const FakeStream& stream) {
  const std::lock_guard<std::mutex> lock(captures().mutex);
  return stream.capture != nullptr;
}

}  // namespace fake_cuda

struct FakeGraph {
  std::vector<fake_cuda::Node> nodes;
};

struct FakeGraphExec {
  int device;
  std::vector<fake_cuda::Node> nodes;
  std::mutex running;  // a graph does not run twice at once
};

using namespace fake_cuda;

FAKE_GPU_EXPORT int cuStreamBeginCapture_v2(FakeStream* stream, int mode) {
  FAKE_GPU_CALL_IN_CONTEXT("cuStreamBeginCapture_v2");
  if (stream == nullptr) return kCaptureUnsupported;
  const std::lock_guard<std::mutex> lock(captures().mutex);
  if (stream->capture || mode < Global || mode > Relaxed) return kInvalidValue;
  const auto capture = std::make_shared<Capture>();
  capture->mode = static_cast<CaptureMode>(mode);
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  capture->streams = {stream};
  stream->capture = capture;
  stream->captureTails.clear();
  captures().all.insert(capture);
  return kSuccess;
}

FAKE_GPU_EXPORT int cuStreamEndCapture(FakeStream* stream, FakeGraph** graph) {
  FAKE_GPU_CALL_IN_CONTEXT("cuStreamEndCapture");
  const std::lock_guard<std::mutex> lock(captures().mutex);
  *graph = nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) return kIllegalState;
  if (capture->origin != stream) {
    capture->isInvalid = true;
    return kCaptureUnmatched;
  }
  // It ends the capture nevertheless.
  const bool isElsewhere = capture->mode != Relaxed && capture->thread != std::this_thread::get_id();
  const bool joined = isJoined(*capture);
  for (FakeStream* const one : capture->streams) {
    one->capture.reset();
    one->captureTails.clear();
  }
  captures().all.erase(capture);
  if (isElsewhere || capture->isInvalid || !joined) {
    // Events may outlive the graph.
    capture->nodes.clear();
    if (isElsewhere) return kCaptureWrongThread;
    return capture->isInvalid ? kCaptureInvalidated : kCaptureUnjoined;
  }
  *graph = new FakeGraph{std::move(capture->nodes)};
  return kSuccess;
}

FAKE_GPU_EXPORT int cuGraphGetNodes(FakeGraph* graph, void** nodes, std::size_t* count) {
  FAKE_GPU_CALL_IN_CONTEXT("cuGraphGetNodes");
  if (graph == nullptr) return kInvalidValue;
  if (nodes != nullptr) return kNotSupported;
  *count = graph->nodes.size();
  return kSuccess;
}

FAKE_GPU_EXPORT int cuGraphInstantiateWithFlags(FakeGraphExec** exec, FakeGraph* graph, unsigned long long flags) {
  FAKE_GPU_CALL_IN_CONTEXT("cuGraphInstantiateWithFlags");
  if (flags != 0) return kNotSupported;
  *exec = new FakeGraphExec{currentDevice(), graph->nodes, {}};
  return kSuccess;
}

// Nodes run in the order in which they were captured, which is one that their dependencies allow.
FAKE_GPU_EXPORT int cuGraphLaunch(FakeGraphExec* exec, FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuGraphLaunch");
  if (stream != nullptr && isCapturing(*stream)) return kNotSupported;
  return enqueue(stream, [exec] {
    const std::lock_guard<std::mutex> lock(exec->running);
    const OpenMemory open;
    for (const Node& node : exec->nodes) node.task();
  });
}

// A launched graph may still run: the real driver frees it afterwards.
FAKE_GPU_EXPORT int cuGraphExecDestroy(FakeGraphExec* exec) {
  FAKE_GPU_CALL_IN_CONTEXT("cuGraphExecDestroy");
  awaitAllStreams();
  delete exec;
  return kSuccess;
}

FAKE_GPU_EXPORT int cuGraphDestroy(FakeGraph* graph) {
  FAKE_GPU_CALL_IN_CONTEXT("cuGraphDestroy");
  delete graph;
  return kSuccess;
}
