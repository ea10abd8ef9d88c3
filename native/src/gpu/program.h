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

  // `workspace`: of at least workspaceBytesOf(commands). Arena and workspace may be empty.
  GpuProgram(const Device& device, std::string name, std::vector<std::unique_ptr<GpuCommand>> commands, Memory arena, Memory workspace);

  static std::size_t workspaceBytesOf(const std::vector<std::unique_ptr<GpuCommand>>& commands);

  const std::string& name() const { return name_; }

  // Adds one run to the work of the stream. `slots`: the buffers' addresses. Throws Failure with the names of program and command.
  // The device must be current.
  void run(const std::vector<std::uint8_t*>& slots, const Stream& stream);

  const Statistics& statistics() const { return statistics_; }

 private:
  // A run with the same buffers.
  struct Known {
    std::vector<std::uint8_t*> slots;
    std::unique_ptr<GpuGraph> graph;  // null after the first run
  };

  Known* find(const std::vector<std::uint8_t*>& slots);
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
