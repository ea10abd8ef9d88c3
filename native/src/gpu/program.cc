#include "gpu/program.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ringrun {
namespace {

// Graphs of one program: two for double-buffered batches, and some for batches of other sizes.
constexpr std::size_t kMaxGraphs = 8;

bool mustWaitForEachCommand() {
  const char* const value = std::getenv("CUDA_LAUNCH_BLOCKING");
  return value != nullptr && std::string(value) == "1";
}

std::uint8_t* addressOf(const GpuProgram::Memory& memory) { return memory == nullptr ? nullptr : memory->data(); }

}  // namespace

GpuProgram::GpuProgram(const Device& device, std::string name, std::vector<std::unique_ptr<GpuCommand>> commands, Memory arena,
                       Memory workspace)
    : device_(device), name_(std::move(name)), commands_(std::move(commands)), arena_(std::move(arena)), workspace_(std::move(workspace)) {}

std::size_t GpuProgram::workspaceBytesOf(const std::vector<std::unique_ptr<GpuCommand>>& commands) {
  std::size_t bytes = 0;
  for (const auto& command : commands) bytes = std::max(bytes, command->workspaceBytes());
  return bytes;
}

void GpuProgram::run(const std::vector<std::uint8_t*>& slots, const Stream& stream) {
  const GpuPlaces places{addressOf(arena_), slots, addressOf(workspace_), workspace_ == nullptr ? 0 : workspace_->bytes()};
  const bool waits = mustWaitForEachCommand();
  Known* const known = waits ? nullptr : find(slots);
  if (known == nullptr) {
    enqueueAll(places, stream, true);
    statistics_.direct += 1;
    if (waits) return;
    known_.push_front({slots, nullptr});
    if (known_.size() > kMaxGraphs) known_.pop_back();
    return;
  }
  if (known->graph == nullptr) {
    known->graph = GpuGraph::record(device_, stream, [&] { enqueueAll(places, stream, false); });
    statistics_.recorded += 1;
    statistics_.graphNodes = known->graph->nodes();
  } else {
    statistics_.replayed += 1;
  }
  known->graph->launch(stream);
}

GpuProgram::Known* GpuProgram::find(const std::vector<std::uint8_t*>& slots) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.slots == slots; });
  if (found == known_.end()) return nullptr;
  known_.splice(known_.begin(), known_, found);
  return &known_.front();
}

void GpuProgram::enqueueAll(const GpuPlaces& places, const Stream& stream, bool waits) {
  for (const auto& command : commands_) {
    const std::optional<Failure> failure = failureOf([&] {
      command->enqueue(places, stream);
      if (waits) stream.synchronize();
    });
    if (failure) throw Failure(failure->code, {}, "program " + name_ + ", command " + command->name() + ": " + failure->detail);
  }
}

}  // namespace ringrun
