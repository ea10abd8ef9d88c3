#include <cstdint>
#include <vector>

#include "collectives/tcp/reduce.h"
#include "collectives/tcp/segmented_reduce_scatter.h"

namespace ringrun {
namespace {

// One rank's part: its own chunk and, on the root, the completed chunks of all ranks.
class DirectReduce {
 public:
  DirectReduce(TeamOperation& team, int root, const Combination& combination, void* data, std::size_t count)
      : team_(team), root_(root), combination_(combination), data_(static_cast<std::uint8_t*>(data)), count_(count),
        reduceScatter_(team, combination, evenParts(team, combination, data, count)) {}

  std::size_t segments() const { return reduceScatter_.segments(); }

  // On the root, segment s overwrites only elements that have been sent.
  void runSegment(std::size_t s) {
    reduceScatter_.exchange(s);
    if (team_.place() == root_) {
      reduceScatter_.reduceInto(inArray(team_.place(), s), s);
      receiveResults(s);
    } else {
      sendResult(s);
    }
  }

 private:
  void sendResult(std::size_t s) {
    const std::size_t bytes = bytesOf(team_.place(), s);
    if (bytes > 0) team_.transfer({{root_, reduceScatter_.reduced(s), bytes}}, {});
  }

  void receiveResults(std::size_t s) {
    std::vector<TeamOperation::Receive> receives;
    for (int distance = 1; distance < team_.size(); ++distance) {
      const int from = team_.below(distance);
      if (bytesOf(from, s) > 0) receives.push_back({from, inArray(from, s), bytesOf(from, s)});
    }
    team_.transfer({}, receives);
  }

  std::size_t bytesOf(int place, std::size_t s) const {
    return reduceScatter_.segment(place, s).length() * combination_.elementBytes();
  }

  std::uint8_t* inArray(int place, std::size_t s) const {
    const auto size = static_cast<std::size_t>(team_.size());
    const Range chunk = splitEvenly(count_, size, static_cast<std::size_t>(place), 1);
    return data_ + (chunk.begin + reduceScatter_.segment(place, s).begin) * combination_.elementBytes();
  }

  TeamOperation& team_;
  int root_;
  const Combination& combination_;
  std::uint8_t* data_;
  std::size_t count_;
  SegmentedReduceScatter reduceScatter_;
};

}  // namespace

// Direct reduce-scatter, then a gather to the root, segment by segment: 2 steps for each. Every rank sends
// bytes once; the root sends only the terms that it does not reduce itself.
void directReduce(TeamOperation& team, int root, const Combination& combination, void* data, std::size_t count) {
  DirectReduce part(team, root, combination, data, count);
  for (std::size_t s = 0; s < part.segments(); ++s) part.runSegment(s);
}

}  // namespace ringrun
