#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"

namespace ringrun::ort {

// A row of a table as an index from 0; negative ones count from the end. Throws Error if the row does not exist.
inline std::int64_t tableRow(std::int64_t row, std::int64_t count) {
  if (row < -count || row >= count) {
    throw Error("expected rows from " + std::to_string(-count) + " to " + std::to_string(count - 1) + ", got " + std::to_string(row));
  }
  return row < 0 ? row + count : row;
}

// Fills a table [count,width] with zeros and calls body(begin, end) for ranges of its rows, on the threads of the session. A
// range owns its rows and searches for their updates; more ranges would search more in total.
template <typename Body>
void forEachTablePart(const Computation& computation, float* table, std::int64_t count, std::int64_t width, const Body& body) {
  constexpr std::int64_t kElementsOfTablePart = 1 << 16;
  constexpr std::int64_t kMostParts = 16;
  const std::int64_t parts = std::clamp<std::int64_t>(count * width / kElementsOfTablePart, 1, kMostParts);
  computation.parallelFor(static_cast<std::size_t>(parts), [&](std::size_t index) {
    const auto part = static_cast<std::int64_t>(index);
    const std::int64_t begin = count * part / parts;
    const std::int64_t end = count * (part + 1) / parts;
    std::fill(table + begin * width, table + end * width, 0.0f);
    body(begin, end);
  });
}

}  // namespace ringrun::ort
