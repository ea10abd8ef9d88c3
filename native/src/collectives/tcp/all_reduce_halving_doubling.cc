#include <vector>

#include "collectives/split.h"
#include "collectives/tcp/all_reduce.h"
#include "collectives/tcp/hypercube.h"

namespace ringrun {
namespace {

// The state of one vertex of the hypercube.
class Vertex {
 public:
  Vertex(TeamOperation& team, const Hypercube& cube, const Combination& combination, std::uint8_t* data, std::size_t count)
      : team_(team),
        cube_(cube),
        combination_(combination),
        data_(data),
        terms_(data),
        kept_{{0, count}},
        received_(team.receiveBuffer(2 * count * combination.elementBytes())),
        partial_(received_ + count * combination.elementBytes()) {}

  void receiveFromSurplus(int from) {
    const Range all = kept_.back();
    team_.transfer({}, {{from, received_, bytesOf(all)}});
    combination_.combine({received_, data_}, partial_, all.length());
    terms_ = partial_;
  }

  // Two neighbours divide the range of which both have terms: the lower one reduces the lower half, and its
  // terms come first.
  void halveWith(int bit) {
    const Range keeps = halfOf(kept_.back(), isUpper(bit));
    const Range sends = halfOf(kept_.back(), !isUpper(bit));
    exchangeWith(bit, terms_ + offsetOf(sends), bytesOf(sends), received_, bytesOf(keeps));
    const void* const own = terms_ + offsetOf(keeps);
    const std::vector<const void*> terms = isUpper(bit) ? std::vector<const void*>{received_, own}
                                                        : std::vector<const void*>{own, received_};
    if (2 * bit == cube_.vertices()) {
      combination_.complete(terms, data_ + offsetOf(keeps), keeps.length());
    } else {
      combination_.combine(terms, partial_ + offsetOf(keeps), keeps.length());
    }
    terms_ = partial_;
    kept_.push_back(keeps);
  }

  // The reverse exchange, with complete elements.
  void doubleWith(int bit) {
    const Range has = kept_.back();
    kept_.pop_back();
    const Range lacks = halfOf(kept_.back(), !isUpper(bit));
    exchangeWith(bit, data_ + offsetOf(has), bytesOf(has), data_ + offsetOf(lacks), bytesOf(lacks));
  }

  void sendToSurplus(int to) { team_.transfer({{to, data_, bytesOf(kept_.front())}}, {}); }

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

  TeamOperation& team_;
  const Hypercube& cube_;
  const Combination& combination_;
  std::uint8_t* data_;
  const std::uint8_t* terms_;  // terms of the current range; initially this rank's own
  std::vector<Range> kept_;    // ranges kept at each step, from the whole array to the completed part
  std::uint8_t* received_;
  std::uint8_t* partial_;
};

}  // namespace

// Recursive halving (a reduce-scatter), then recursive doubling (an all-gather): 2 log₂ vertices steps, in
// which every vertex sends 2(vertices − 1)/vertices × bytes. Surplus ranks and their neighbours send bytes
// more, in 2 more steps.
//
//   4 ranks    0        1        2        3
//   halving    ab ↔ 1   cd ↔ 0   ab ↔ 3   cd ↔ 2     the terms that a rank keeps, and its partner
//              a  ↔ 2   c  ↔ 3   b  ↔ 0   d  ↔ 1     complete
//   doubling   the same backwards
//
// An element is reduced as a tree, neighbours first: (0 ∘ 1) ∘ (2 ∘ 3), by one rank for all. After the last
// halving a rank has heard from all others, directly or indirectly, and may write to the caller's memory. A surplus
// rank hears only from its neighbour, and only at the end, so it checks the header first.
void halvingDoublingAllReduce(TeamOperation& team, const Combination& combination, void* data, std::size_t count) {
  const Hypercube cube(team.size());
  const int place = team.place();
  if (cube.isSurplus(place)) {
    const std::size_t bytes = count * combination.elementBytes();
    team.transfer({{team.above(), data, bytes}}, {});
    return team.transfer({}, {{team.above(), data, bytes, true}});
  }
  Vertex vertex(team, cube, combination, static_cast<std::uint8_t*>(data), count);
  if (cube.standsForTwo(place)) vertex.receiveFromSurplus(team.below());
  for (int bit = 1; bit < cube.vertices(); bit *= 2) vertex.halveWith(bit);
  for (int bit = cube.vertices() / 2; bit >= 1; bit /= 2) vertex.doubleWith(bit);
  if (cube.standsForTwo(place)) vertex.sendToSurplus(team.below());
}

}  // namespace ringrun
