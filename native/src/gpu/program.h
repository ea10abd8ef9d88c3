#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "gpu/command.h"
#include "gpu/graph.h"
#include "gpu/memory.h"

namespace ringrun {

// Commands over one arena. The first run with given buffers launches each command and waits for it, so that an error names the
// command. The second run with the same buffers records a graph, which later runs repeat. With CUDA_LAUNCH_BLOCKING=1 every run is
// as the first.
//
// Runs whose collectives other ranks take part in are carried out in the same way on all of them, because NCCL requires it: the
// ranks offer() what they can do, and agree.
//
// One thread at a time uses it.
class GpuProgram {
 public:
  struct Statistics {
    std::size_t direct = 0;
    std::size_t recorded = 0;
    std::size_t replayed = 0;
    std::size_t graphNodes = 0;  // of the graph that was last recorded
  };

  using Memory = std::shared_ptr<const DeviceMemory>;

  // How a run is carried out.
  enum class Way : std::uint8_t { Direct, Record, Replay };

  // What a rank can do in a run with given buffers.
  struct Offer {
    bool hasRun = false;           // so that it may be recorded
    std::uint64_t recordedAt = 0;  // the step whose record can be repeated; 0: none
  };

  // A run with collectives.
  struct Step {
    Way way = Way::Direct;
    std::uint64_t number = 0;  // identifies its record
    std::uint64_t owner = 0;   // of the collectives: records of another owner are not repeated
    GpuExchanges* exchanges = nullptr;
    std::vector<std::uint8_t*> buffers;  // of the collectives
  };

  // `workspace`: of at least workspaceBytesOf(commands). Arena and workspace may be empty.
  GpuProgram(const Device& device, std::string name, std::vector<std::unique_ptr<GpuCommand>> commands, Memory arena, Memory workspace);

  static std::size_t workspaceBytesOf(const std::vector<std::unique_ptr<GpuCommand>>& commands);

  const std::string& name() const { return name_; }

  // Adds one run to the work of the stream. `slots`: the buffers' addresses. Throws Failure with the names of program and command.
  // The device must be current.
  void run(const std::vector<std::uint8_t*>& slots, const Stream& stream);

  // The same for a run with collectives, in the way that all ranks have chosen from their offers.
  void runStep(const std::vector<std::uint8_t*>& slots, const Step& step, const Stream& stream);
  Offer offer(const std::vector<std::uint8_t*>& slots, const Step& step) const;

  // Forgets the records that contain collectives of an owner. The device must be current.
  void forgetRecordsOf(std::uint64_t owner);

  const Statistics& statistics() const { return statistics_; }

 private:
  // What must be equal for a record to be repeated.
  struct Key {
    std::vector<std::uint8_t*> slots;
    std::uint64_t owner = 0;
    std::vector<std::uint8_t*> buffers;
    bool operator==(const Key& other) const { return slots == other.slots && owner == other.owner && buffers == other.buffers; }
  };

  // A run with the same buffers.
  struct Known {
    Key key;
    std::unique_ptr<GpuGraph> graph;  // null after the first run
    std::uint64_t recordedAt = 0;
  };

  const Known* peek(const Key& key) const;
  Known* find(const Key& key);
  void carryOut(const Key& key, const Step& step, const Stream& stream);
  void enqueueAll(const GpuPlaces& places, const Stream& stream, bool waits);

  const Device& device_;
  std::string name_;
  std::vector<std::unique_ptr<GpuCommand>> commands_;
  Memory arena_;
  Memory workspace_;
  std::list<Known> known_;  // the last used first
  Statistics statistics_;
};

}  // namespace ringrun
