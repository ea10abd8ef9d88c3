#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace fake_nccl {

// The reductions of the fake NCCL. Dtypes and ops have the numbers of nccl.h.

inline float widenHalf(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  std::uint32_t exponent = bits >> 10 & 0x1f;
  std::uint32_t mantissa = bits & 0x3ff;
  std::uint32_t wide;
  if (exponent == 0x1f) {
    wide = sign | 0x7f800000u | mantissa << 13;
  } else if (exponent != 0) {
    wide = sign | (exponent + 112) << 23 | mantissa << 13;
  } else if (mantissa == 0) {
    wide = sign;
  } else {
    exponent = 113;
    while ((mantissa & 0x400) == 0) mantissa <<= 1, --exponent;
    wide = sign | exponent << 23 | (mantissa & 0x3ff) << 13;
  }
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// Rounds to nearest, ties to even.
inline std::uint16_t narrowHalf(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    const float scaled = value * 16777216.0f;  // 2^24: the unit of subnormal numbers
    const float rounded = scaled < 0 ? -scaled : scaled;
    const auto whole = static_cast<std::uint32_t>(rounded);
    const float rest = rounded - static_cast<float>(whole);
    const std::uint32_t up = rest > 0.5f || (rest == 0.5f && (whole & 1)) ? 1 : 0;
    return static_cast<std::uint16_t>(sign | (whole + up));
  }
  const std::uint32_t shifted = magnitude - (112u << 23);
  return static_cast<std::uint16_t>(sign | (shifted + 0xfff + (shifted >> 13 & 1)) >> 13);
}

struct Half {
  std::uint16_t bits;
};
struct BHalf {
  std::uint16_t bits;
};

template <typename T>
struct Arithmetic {
  using Wide = T;
  static Wide widen(T value) { return value; }
  static T narrow(Wide value) { return value; }
};
template <>
struct Arithmetic<Half> {
  using Wide = float;
  static float widen(Half value) { return widenHalf(value.bits); }
  static Half narrow(float value) { return {narrowHalf(value)}; }
};
template <>
struct Arithmetic<BHalf> {
  using Wide = float;
  static float widen(BHalf value) {
    const std::uint32_t wide = static_cast<std::uint32_t>(value.bits) << 16;
    float result;
    std::memcpy(&result, &wide, sizeof result);
    return result;
  }
  static BHalf narrow(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (value != value) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};
    return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
  }
};

template <typename Wide>
Wide combine(Wide left, Wide right, int op) {
  switch (op) {
    case 1: return static_cast<Wide>(left * right);
    case 2: return right > left ? right : left;
    case 3: return right < left ? right : left;
    default: return static_cast<Wide>(left + right);
  }
}

template <typename T>
void reduceAs(const std::vector<const std::uint8_t*>& inputs, std::uint8_t* output, std::size_t count, int op) {
  using Of = Arithmetic<T>;
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    using Wide = typename Of::Wide;
    const Wide ranks = static_cast<Wide>(inputs.size());
    Wide value{};
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      T element;
      std::memcpy(&element, inputs[rank] + i * sizeof(T), sizeof(T));
      const Wide term = Of::widen(element);
      if constexpr (std::is_floating_point_v<Wide>) {
        if (op == 4) {
          value = rank == 0 ? term * (1 / ranks) : std::fma(term, 1 / ranks, value);
          continue;
        }
      }
      value = rank == 0 ? term : combine(value, term, op);
    }
    if (!std::is_floating_point_v<Wide> && op == 4) value = static_cast<Wide>(value / ranks);
    result[i] = Of::narrow(value);
  }
  std::memcpy(output, result.data(), count * sizeof(T));
}

inline void reduce(const std::vector<const std::uint8_t*>& inputs, std::uint8_t* output, std::size_t count, int dtype, int op) {
  switch (dtype) {
    // Unsigned types of the same size: sums and products have the same bits, and wrap around.
    case 0: return op == 2 || op == 3 ? reduceAs<std::int8_t>(inputs, output, count, op) : reduceAs<std::uint8_t>(inputs, output, count, op);
    case 1: return reduceAs<std::uint8_t>(inputs, output, count, op);
    case 2: return op == 2 || op == 3 ? reduceAs<std::int32_t>(inputs, output, count, op) : reduceAs<std::uint32_t>(inputs, output, count, op);
    case 3: return reduceAs<std::uint32_t>(inputs, output, count, op);
    case 4: return op == 2 || op == 3 ? reduceAs<std::int64_t>(inputs, output, count, op) : reduceAs<std::uint64_t>(inputs, output, count, op);
    case 5: return reduceAs<std::uint64_t>(inputs, output, count, op);
    case 6: return reduceAs<Half>(inputs, output, count, op);
    case 7: return reduceAs<float>(inputs, output, count, op);
    case 8: return reduceAs<double>(inputs, output, count, op);
    default: return reduceAs<BHalf>(inputs, output, count, op);
  }
}

inline std::size_t bytesOf(int dtype) {
  constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kBytes[dtype];
}

}  // namespace fake_nccl
