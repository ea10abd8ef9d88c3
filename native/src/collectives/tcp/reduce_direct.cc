#include <cstdint>
#include <vector>

#include "collectives/tcp/reduce.h"
#include "collectives/tcp/terms.h"

namespace ringrun {
namespace {

// One rank's part: its own chunk, and on the root the chunks that all ranks complete.
class DirectReduce {
 public:
  DirectReduce(Communicator& team, int root, const Combination& combination, void* data, std::size_t count)
      : team_(team), root_(root), combination_(combination), data_(static_cast<std::uint8_t*>(data)), count_(count),
        terms_(team, combination, evenParts(team, combination, data, count)) {}

  std::size_t segments() const { return terms_.segments(); }

  // On the root, what segment s overwrites are elements that it has sent already.
  void carryOut(std::size_t s) {
    terms_.exchange(s);
    if (team_.place() == root_) {
      terms_.reduceInto(inArray(team_.place(), s), s);
      takeResults(s);
    } else {
      giveResult(s);
    }
  }

 private:
  void giveResult(std::size_t s) {
    const std::size_t bytes = bytesOf(team_.place(), s);
    if (bytes > 0) team_.transfer({{root_, terms_.reduced(s), bytes}}, {});
  }

  void takeResults(std::size_t s) {
    std::vector<Communicator::Receive> receives;
    for (int distance = 1; distance < team_.size(); ++distance) {
      const int from = team_.below(distance);
      if (bytesOf(from, s) > 0) receives.push_back({from, inArray(from, s), bytesOf(from, s)});
    }
    team_.transfer({}, receives);
  }

  std::size_t bytesOf(int place, std::size_t s) const {
    return terms_.segment(place, s).length() * combination_.elementBytes();
  }

  std::uint8_t* inArray(int place, std::size_t s) const {
    const auto size = static_cast<std::size_t>(team_.size());
    const Range chunk = splitEvenly(count_, size, static_cast<std::size_t>(place), 1);
    return data_ + (chunk.begin + terms_.segment(place, s).begin) * combination_.elementBytes();
  }

  Communicator& team_;
  int root_;
  const Combination& combination_;
  std::uint8_t* data_;
  std::size_t count_;
  Terms terms_;
};

}  // namespace

// Direct reduce-scatter, then a gather to the root, segment by segment: 2 steps for each. Every rank sends bytes once,
// but the root, which sends what it does not reduce itself.
void directReduce(Communicator& team, int root, const Combination& combination, void* data, std::size_t count) {
  DirectReduce part(team, root, combination, data, count);
  for (std::size_t s = 0; s < part.segments(); ++s) part.carryOut(s);
}

}  // namespace ringrun
