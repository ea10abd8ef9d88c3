#pragma once

#include <algorithm>
#include <cstddef>

namespace ringrun {

// Elements [begin, end) of an array.
struct Range {
  std::size_t begin;
  std::size_t end;
  std::size_t length() const { return end - begin; }
};

// What two ranges have in common; empty where that is nothing.
inline Range overlapOf(const Range& a, const Range& b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

// The `part`-th of `parts` nearly equal ranges of `count` elements. All but the last boundary are multiples of
// `grain`, so that two ranks never write to one cache line.
inline Range splitEvenly(std::size_t count, std::size_t parts, std::size_t part, std::size_t grain) {
  const std::size_t grains = (count + grain - 1) / grain;
  const auto boundary = [&](std::size_t i) { return std::min(count, grains * i / parts * grain); };
  return {boundary(part), boundary(part + 1)};
}

// The `part`-th of the ranges of `most` elements that `whole` is cut into, the last one shorter; empty beyond that.
inline Range segmentOf(const Range& whole, std::size_t most, std::size_t part) {
  return {std::min(whole.end, whole.begin + part * most), std::min(whole.end, whole.begin + (part + 1) * most)};
}

// In how many of those ranges `count` elements lie.
inline std::size_t segmentsIn(std::size_t count, std::size_t most) { return count / most + (count % most > 0 ? 1 : 0); }

}  // namespace ringrun
