#pragma once

#include <optional>

#include "cuda/streams.h"

// Stream capture: work of a captured stream becomes nodes of a graph instead of running.

namespace fake_cuda {

// If the stream is captured, adds the work to the graph and returns the result of the call.
std::optional<int> captureInstead(FakeStream& stream, const Task& task);

// If the stream is captured, the event marks its last nodes; returns true.
bool captureRecord(FakeEvent& event, FakeStream& stream);

// If the stream or the event is captured, the stream's next node runs after the event's nodes; returns the result of the call.
std::optional<int> captureWait(FakeStream& stream, FakeEvent& event);

// What a call about an event answers that was last recorded in a captured stream.
std::optional<int> refusalOfCaptured(const FakeEvent& event);
bool isCapturing(const FakeStream& stream);

}  // namespace fake_cuda
