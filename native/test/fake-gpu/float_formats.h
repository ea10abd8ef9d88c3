#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

// Conversions of the fakes of cuBLASLt and cuDNN, which compute in float32.

namespace fake_gpu {

inline float bfloat16ToFloat(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// Rounds to nearest, ties to even.
inline std::uint16_t floatToBfloat16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// NVIDIA's libraries do not use TF32 with this variable, whatever the program allows.
inline bool isTf32Off() {
  const char* const value = std::getenv("NVIDIA_TF32_OVERRIDE");
  return value != nullptr && std::strcmp(value, "0") == 0;
}

// float32 with the 10 bits of mantissa of TF32.
inline float roundedToTf32(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (value != value) return value;
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Elements of float32 or bfloat16 as float32.
inline float elementOf(const std::uint8_t* data, std::size_t index, bool isBfloat16) {
  if (!isBfloat16) {
    float value;
    std::memcpy(&value, data + 4 * index, sizeof value);
    return value;
  }
  std::uint16_t bits;
  std::memcpy(&bits, data + 2 * index, sizeof bits);
  return bfloat16ToFloat(bits);
}

inline void setElement(std::uint8_t* data, std::size_t index, bool isBfloat16, float value) {
  if (!isBfloat16) {
    std::memcpy(data + 4 * index, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = floatToBfloat16(value);
  std::memcpy(data + 2 * index, &bits, sizeof bits);
}

}  // namespace fake_gpu
