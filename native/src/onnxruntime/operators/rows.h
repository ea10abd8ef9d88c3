#pragma once

#include <algorithm>
#include <cstddef>

#include "onnxruntime/operator.h"

namespace ringrun::ort {

// Elements that one thread computes at a time.
constexpr std::size_t kElementsOfPart = 1 << 13;

// Calls body(row) for all rows of `width` elements, on the threads of the session.
template <typename Body>
void forEachRow(const Computation& computation, std::size_t rows, std::size_t width, const Body& body) {
  const std::size_t rowsOfPart = std::max<std::size_t>(1, kElementsOfPart / std::max<std::size_t>(1, width));
  computation.parallelFor((rows + rowsOfPart - 1) / rowsOfPart, [&](std::size_t part) {
    const std::size_t end = std::min(rows, (part + 1) * rowsOfPart);
    for (std::size_t row = part * rowsOfPart; row < end; ++row) body(row);
  });
}

}  // namespace ringrun::ort
