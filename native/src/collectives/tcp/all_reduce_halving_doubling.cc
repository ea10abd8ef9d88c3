#include <vector>

#include "collectives/split.h"
#include "collectives/tcp/all_reduce.h"
#include "collectives/tcp/hypercube.h"

namespace ringrun {
namespace {

// One rank's part of the cube.
class Vertex {
 public:
  Vertex(Communicator& team, const Hypercube& cube, const Combination& combination, std::uint8_t* data, std::size_t count)
      : team_(team),
        cube_(cube),
        combination_(combination),
        data_(data),
        terms_(data),
        kept_{{0, count}},
        landing_(team.landings(2 * count * combination.elementBytes())),
        partial_(landing_ + count * combination.elementBytes()) {}

  void takeInSurplus(int from) {
    const Range all = kept_.back();
    team_.transfer({}, {{from, landing_, bytesOf(all)}});
    combination_.combine({landing_, data_}, partial_, all.length());
    terms_ = partial_;
  }

  // The localRanks share what both have terms of: the lower one reduces the lower half, and the lower one's terms come
  // first.
  void halveWith(int bit) {
    const Range keeps = halfOf(kept_.back(), isUpper(bit));
    const Range gives = halfOf(kept_.back(), !isUpper(bit));
    exchangeWith(bit, terms_ + offsetOf(gives), bytesOf(gives), landing_, bytesOf(keeps));
    const void* const own = terms_ + offsetOf(keeps);
    const std::vector<const void*> terms = isUpper(bit) ? std::vector<const void*>{landing_, own}
                                                        : std::vector<const void*>{own, landing_};
    if (2 * bit == cube_.vertices()) {
      combination_.complete(terms, data_ + offsetOf(keeps), keeps.length());
    } else {
      combination_.combine(terms, partial_ + offsetOf(keeps), keeps.length());
    }
    terms_ = partial_;
    kept_.push_back(keeps);
  }

  // The way back, with complete elements.
  void doubleWith(int bit) {
    const Range has = kept_.back();
    kept_.pop_back();
    const Range lacks = halfOf(kept_.back(), !isUpper(bit));
    exchangeWith(bit, data_ + offsetOf(has), bytesOf(has), data_ + offsetOf(lacks), bytesOf(lacks));
  }

  void giveToSurplus(int to) { team_.transfer({{to, data_, bytesOf(kept_.front())}}, {}); }

 private:
  static Range halfOf(const Range& whole, bool upper) {
    const std::size_t middle = whole.begin + whole.length() / 2;
    return upper ? Range{middle, whole.end} : Range{whole.begin, middle};
  }

  bool isUpper(int bit) const { return (cube_.vertexOf(team_.place()) & bit) != 0; }
  std::size_t offsetOf(const Range& range) const { return range.begin * combination_.elementBytes(); }
  std::size_t bytesOf(const Range& range) const { return range.length() * combination_.elementBytes(); }

  void exchangeWith(int bit, const void* out, std::size_t outBytes, void* in, std::size_t inBytes) {
    const int neighbour = cube_.placeOf(cube_.vertexOf(team_.place()) ^ bit);
    team_.transfer({{neighbour, out, outBytes}}, {{neighbour, in, inBytes}});
  }

  Communicator& team_;
  const Hypercube& cube_;
  const Combination& combination_;
  std::uint8_t* data_;
  const std::uint8_t* terms_;  // of what this rank still reduces: at first its own
  std::vector<Range> kept_;    // what it has reduced, from everything down to what it completes
  std::uint8_t* landing_;
  std::uint8_t* partial_;
};

}  // namespace

// Recursive halving (a reduce-scatter), then recursive doubling (an all-gather): 2 log₂ vertices steps, in which every
// vertex sends 2(vertices − 1)/vertices × bytes; surplus ranks and those that stand for them send bytes more, in 2 more
// steps.
//
//   4 ranks    0        1        2        3
//   halving    ab ↔ 1   cd ↔ 0   ab ↔ 3   cd ↔ 2     what a rank keeps, and with whom it shares
//              a  ↔ 2   c  ↔ 3   b  ↔ 0   d  ↔ 1     complete
//   doubling   the same backwards
//
// An element is reduced as a tree, localRanks first: (0 ∘ 1) ∘ (2 ∘ 3), by one rank for all. After the last halving a
// rank has heard from allRanks, directly or not, and may write to the caller's memory. A surplus rank hears of
// nobody but its neighbour, and only at the end, hence the look at the header first.
void halvingDoublingAllReduce(Communicator& team, const Combination& combination, void* data, std::size_t count) {
  const Hypercube cube(team.size());
  const int place = team.place();
  if (cube.isSurplus(place)) {
    const std::size_t bytes = count * combination.elementBytes();
    team.transfer({{team.above(), data, bytes}}, {});
    return team.transfer({}, {{team.above(), data, bytes, true}});
  }
  Vertex vertex(team, cube, combination, static_cast<std::uint8_t*>(data), count);
  if (cube.standsForTwo(place)) vertex.takeInSurplus(team.below());
  for (int bit = 1; bit < cube.vertices(); bit *= 2) vertex.halveWith(bit);
  for (int bit = cube.vertices() / 2; bit >= 1; bit /= 2) vertex.doubleWith(bit);
  if (cube.standsForTwo(place)) vertex.giveToSurplus(team.below());
}

}  // namespace ringrun
