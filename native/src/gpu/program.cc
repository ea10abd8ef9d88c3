#include "gpu/program.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "gpu/exchanges.h"

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
  Step step;
  const Known* const known = mustWaitForEachCommand() ? nullptr : peek({slots, 0, {}});
  if (known != nullptr) step.way = known->graph == nullptr ? Way::Record : Way::Replay;
  carryOut({slots, 0, {}}, step, stream);
}

void GpuProgram::runStep(const std::vector<std::uint8_t*>& slots, const Step& step, const Stream& stream) {
  carryOut({slots, step.owner, step.buffers}, step, stream);
}

GpuProgram::Offer GpuProgram::offer(const std::vector<std::uint8_t*>& slots, const Step& step) const {
  if (mustWaitForEachCommand()) return {};
  const Known* const known = peek({slots, step.owner, step.buffers});
  return known == nullptr ? Offer{} : Offer{true, known->graph == nullptr ? 0 : known->recordedAt};
}

void GpuProgram::forgetRecordsOf(std::uint64_t owner) {
  known_.remove_if([owner](const Known& one) { return one.key.owner == owner; });
}

void GpuProgram::carryOut(const Key& key, const Step& step, const Stream& stream) {
  const GpuPlaces places{addressOf(arena_), key.slots, addressOf(workspace_), workspace_ == nullptr ? 0 : workspace_->bytes(), step.exchanges};
  if (step.way == Way::Direct) {
    enqueueAll(places, stream, true);
    statistics_.direct += 1;
    if (mustWaitForEachCommand() || find(key) != nullptr) return;
    known_.push_front({key, nullptr, 0});
    if (known_.size() > kMaxGraphs) known_.pop_back();
    return;
  }
  Known& known = *find(key);
  if (step.way == Way::Record) {
    known.graph = GpuGraph::record(device_, stream, [&] { enqueueAll(places, stream, false); });
    known.recordedAt = step.number;
    statistics_.recorded += 1;
    statistics_.graphNodes = known.graph->nodes();
  } else {
    statistics_.replayed += 1;
  }
  known.graph->launch(stream);
}

const GpuProgram::Known* GpuProgram::peek(const Key& key) const {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.key == key; });
  return found == known_.end() ? nullptr : &*found;
}

// Makes it the last used.
GpuProgram::Known* GpuProgram::find(const Key& key) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.key == key; });
  if (found == known_.end()) return nullptr;
  known_.splice(known_.begin(), known_, found);
  return &known_.front();
}

void GpuProgram::enqueueAll(const GpuPlaces& places, const Stream& stream, bool waits) {
  for (const auto& command : commands_) {
    const std::optional<Failure> failure = failureOf([&] {
      if (places.exchanges != nullptr) places.exchanges->requireGoing();
      command->enqueue(places, stream);
      if (waits) stream.synchronize();
    });
    if (failure) throw Failure(failure->code, {}, "program " + name_ + ", command " + command->name() + ": " + failure->detail);
  }
}

}  // namespace ringrun
