#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrun {

// A matrix of 32-bit words: float32 numbers or pairs of bfloat16 numbers. Row r begins at data + r·stride bytes, at any
// address.
struct WordMatrix {
  const void* data;
  std::size_t stride;
  std::size_t rows;
  std::size_t columns;
};

// to[c·toStride + r] = from[r, c], with toStride in words.
void transposeWords(const WordMatrix& from, std::uint32_t* to, std::size_t toStride);

}  // namespace ringrun
