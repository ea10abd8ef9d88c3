#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrun {

// Numbers of 8 or 4 bits, for collectives that send fewer bytes. An array is cut into blocks of 256 elements, and the last one is
// filled up with zeros. A packed block is the scale s (float32), then an integer q of `bits` bits for each element, which stands
// for q·s:
//
//   s = largest |element| / Q, rounded up to 16 significant bits; Q = 127 for 8 bits, 7 for 4
//   q = element / s, rounded to nearest, ties away from zero; from −Q to Q
//
// q·s is exact in float32, so a fused multiply-add has the same bits as a product and a sum, and every instruction set has the same
// bits. A block with NaN or infinity gets the scale NaN and stands for NaN in every element. A block whose elements are all below
// kSmallestQuantized becomes 0.
//
// The 32-bit word w of a block of W words holds elements w, w + W, w + 2W, …, the first in its lowest bits.
constexpr std::size_t kQuantizedBlock = 256;

constexpr float kSmallestQuantized = 0x1p-119f;

constexpr std::size_t blocksIn(std::size_t count) { return (count + kQuantizedBlock - 1) / kQuantizedBlock; }

// Bytes of `count` elements, packed.
constexpr std::size_t quantizedBytes(int bits, std::size_t count) {
  return blocksIn(count) * (sizeof(float) + kQuantizedBlock * static_cast<std::size_t>(bits) / 8);
}

// The kernels of one instruction set for 8 or 4 bits. Arrays have the alignment of one element, and do not overlap except as said.
struct Quantizer {
  // packed ← values / divisor + error; newError ← what the rounding lost. `newError` may be `error`. Both are null, or neither. A
  // block with NaN or infinity keeps its error.
  void (*quantize)(const float* values, std::size_t divisor, const float* error, std::uint8_t* packed, float* newError, std::size_t count);

  // values ← packed
  void (*dequantize)(const std::uint8_t* packed, float* values, std::size_t count);

  // packed ← terms[0] + terms[1] + …, summed in float32 in this order; error += what the rounding of the sum lost. `error` may be
  // null.
  void (*combine)(const std::uint8_t* const* terms, std::size_t termCount, std::uint8_t* packed, float* error, std::size_t count);
};

// The fastest kernels of this processor. `bits`: 8 or 4.
const Quantizer& quantizerFor(int bits);

}  // namespace ringrun
