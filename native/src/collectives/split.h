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

// The intersection of two ranges; may be empty.
inline Range overlapOf(const Range& a, const Range& b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

// The `part`-th of `parts` nearly equal ranges of `count` elements. All boundaries but the last are multiples
// of `grain`, so that two ranks never write to one cache line.
inline Range splitEvenly(std::size_t count, std::size_t parts, std::size_t part, std::size_t grain) {
  const std::size_t grains = (count + grain - 1) / grain;
  const auto boundary = [&](std::size_t i) { return std::min(count, grains * i / parts * grain); };
  return {boundary(part), boundary(part + 1)};
}

// The `part`-th range of at most `most` elements of `whole`; empty beyond its end.
inline Range segmentOf(const Range& whole, std::size_t most, std::size_t part) {
  return {std::min(whole.end, whole.begin + part * most), std::min(whole.end, whole.begin + (part + 1) * most)};
}

// The number of such ranges in `count` elements.
inline std::size_t segmentsIn(std::size_t count, std::size_t most) { return count / most + (count % most > 0 ? 1 : 0); }

}  // namespace ringrun
