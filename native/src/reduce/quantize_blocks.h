#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "reduce/formats16.h"
#include "reduce/quantize.h"
#include "reduce/vectorised.h"

// One body of the kernels in quantize.h for every vector width, inlined into functions with the instruction set as an attribute
// (instruction_sets.h).

namespace ringrun {

#define RINGRUN_INLINE inline __attribute__((always_inline))

template <std::size_t Bytes>
struct QuantizedLanes {
  static constexpr std::size_t kLanes = Bytes / sizeof(float);
  using Floats = typename VectorOf<float, kLanes>::Type;
  using Ints = typename VectorOf<std::int32_t, kLanes>::Type;
  using Words = typename VectorOf<std::uint32_t, kLanes>::Type;

  template <typename Vector>
  static RINGRUN_INLINE void load(const void* from, Vector& to) {
    std::memcpy(&to, from, sizeof to);
  }
  template <typename Vector>
  static RINGRUN_INLINE void store(const Vector& from, void* to) {
    std::memcpy(to, &from, sizeof from);
  }
  // The same bits.
  template <typename From, typename To>
  static RINGRUN_INLINE void reinterpret(const From& from, To& to) {
    static_assert(sizeof from == sizeof to, "vectors of one size");
    std::memcpy(&to, &from, sizeof to);
  }

  // Rounds towards zero.
  static RINGRUN_INLINE void truncate(const Floats& from, Ints& to) {
    if constexpr (kLanes == 1) {
      to = static_cast<std::int32_t>(from);
    } else {
      to = __builtin_convertvector(from, Ints);
    }
  }
  static RINGRUN_INLINE void widen(const Ints& from, Floats& to) {
    if constexpr (kLanes == 1) {
      to = static_cast<float>(from);
    } else {
      to = __builtin_convertvector(from, Floats);
    }
  }
};

constexpr std::uint32_t kInfinityBits = 0x7f800000u;

template <std::size_t Bytes, int Bits>
struct QuantizeBlocks {
  using Lanes = QuantizedLanes<Bytes>;
  using Floats = typename Lanes::Floats;
  using Ints = typename Lanes::Ints;
  using Words = typename Lanes::Words;
  static constexpr std::size_t kLanes = Lanes::kLanes;
  static constexpr std::size_t kBlock = kQuantizedBlock;
  static constexpr std::size_t kWords = kBlock * Bits / 32;
  static constexpr std::size_t kPerWord = 32 / Bits;
  static constexpr std::size_t kBlockBytes = sizeof(float) + kWords * sizeof(std::uint32_t);
  static constexpr float kLargest = Bits == 8 ? 127.0f : 7.0f;
  static constexpr std::uint32_t kField = (1u << Bits) - 1;
  static_assert(kWords % kLanes == 0, "a block is a whole number of vectors");

  // The bits of the largest magnitude, in which NaN is above infinity and infinity above all numbers.
  static RINGRUN_INLINE std::uint32_t largestBits(const float* elements) {
    Ints largest{};
    for (std::size_t i = 0; i < kBlock; i += kLanes) {
      Ints bits;
      Lanes::load(elements + i, bits);
      bits &= 0x7fffffff;
      largest = bits > largest ? bits : largest;
    }
    std::int32_t lanes[kLanes];
    std::memcpy(lanes, &largest, sizeof lanes);
    for (const std::int32_t lane : lanes) lanes[0] = lane > lanes[0] ? lane : lanes[0];
    return static_cast<std::uint32_t>(lanes[0]);
  }

  static RINGRUN_INLINE float scaleFor(std::uint32_t largest) {
    if (largest >= kInfinityBits) return std::numeric_limits<float>::quiet_NaN();
    if (floatOf(largest) < kSmallestQuantized) return 0;
    return floatOf((ringrun::bitsOf(floatOf(largest) / kLargest) + 0xffu) & ~0xffu);
  }

  static RINGRUN_INLINE void fill(std::uint8_t* packed, float scale) {
    std::memcpy(packed, &scale, sizeof scale);
    std::memset(packed + sizeof scale, 0, kBlockBytes - sizeof scale);
  }

  // Packs a block of elements; `lost` ← what the rounding lost; null for nothing. Returns false, and leaves `lost`, for NaN and
  // infinity.
  static RINGRUN_INLINE bool pack(const float* elements, std::uint8_t* packed, float* lost) {
    const float scale = scaleFor(largestBits(elements));
    if (!(scale > 0)) {
      fill(packed, scale);
      if (scale == 0 && lost != nullptr) std::memmove(lost, elements, kBlock * sizeof(float));
      return scale == 0;
    }
    // Twice the quotient, so that truncation keeps the half that decides the rounding.
    const float factor = 2 / scale;
    std::memcpy(packed, &scale, sizeof scale);
    for (std::size_t w = 0; w < kWords; w += kLanes) {
      Words word{};
      for (std::size_t f = 0; f < kPerWord; ++f) {
        const std::size_t at = w + f * kWords;
        Floats element, magnitude, value;
        Ints bits, q;
        Words field;
        Lanes::load(elements + at, element);
        Lanes::reinterpret(element, bits);
        const Ints sign = bits >> 31;
        bits &= 0x7fffffff;
        Lanes::reinterpret(bits, magnitude);
        Lanes::truncate(magnitude * factor, q);
        q = (((q + 1) >> 1) ^ sign) - sign;
        Lanes::reinterpret(q, field);
        word |= (field & kField) << (Bits * f);
        if (lost == nullptr) continue;
        Lanes::widen(q, value);
        const Floats rest = element - value * scale;
        Lanes::store(rest, lost + at);
      }
      Lanes::store(word, packed + sizeof scale + w * sizeof(std::uint32_t));
    }
    return true;
  }

  // values ← the block, or values += the block.
  template <bool Adds>
  static RINGRUN_INLINE void unpack(const std::uint8_t* packed, float* values) {
    float scale;
    std::memcpy(&scale, packed, sizeof scale);
    for (std::size_t w = 0; w < kWords; w += kLanes) {
      Words word;
      Lanes::load(packed + sizeof scale + w * sizeof(std::uint32_t), word);
      for (std::size_t f = 0; f < kPerWord; ++f) {
        float* const at = values + w + f * kWords;
        Floats value;
        Ints q;
        // Into the highest bits first, for the sign.
        const Words shifted = word << (32 - Bits * (f + 1));
        Lanes::reinterpret(shifted, q);
        q >>= 32 - Bits;
        Lanes::widen(q, value);
        value *= scale;
        if constexpr (Adds) {
          Floats sum;
          Lanes::load(at, sum);
          value += sum;
        }
        Lanes::store(value, at);
      }
    }
  }

  // elements ← values / divisor + error, of a whole block.
  static RINGRUN_INLINE void addError(const float* values, float divisor, const float* error, float* elements) {
    for (std::size_t i = 0; i < kBlock; i += kLanes) {
      Floats element;
      Lanes::load(values + i, element);
      if (divisor != 1) element /= divisor;
      if (error != nullptr) {
        Floats term;
        Lanes::load(error + i, term);
        element += term;
      }
      Lanes::store(element, elements + i);
    }
  }

  static RINGRUN_INLINE void quantize(const float* values, std::size_t divisor, const float* error, std::uint8_t* packed,
                                      float* newError, std::size_t count) {
    float elements[kBlock];
    const auto by = static_cast<float>(divisor);
    for (std::size_t i = 0; i < count; i += kBlock, packed += kBlockBytes) {
      const float* const errorOf = error == nullptr ? nullptr : error + i;
      if (i + kBlock <= count) {
        addError(values + i, by, errorOf, elements);
        const bool isFinite = pack(elements, packed, newError == nullptr ? nullptr : newError + i);
        if (!isFinite && newError != nullptr && newError != error) std::memcpy(newError + i, errorOf, sizeof elements);
        continue;
      }
      // The rest of the last block is 0.
      const std::size_t bytes = (count - i) * sizeof(float);
      float lastValues[kBlock] = {};
      float lastError[kBlock] = {};
      std::memcpy(lastValues, values + i, bytes);
      if (error != nullptr) std::memcpy(lastError, errorOf, bytes);
      addError(lastValues, by, error == nullptr ? nullptr : lastError, elements);
      pack(elements, packed, lastError);
      if (newError != nullptr) std::memcpy(newError + i, lastError, bytes);
    }
  }

  static RINGRUN_INLINE void dequantize(const std::uint8_t* packed, float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; i += kBlock, packed += kBlockBytes) {
      if (i + kBlock <= count) {
        unpack<false>(packed, values + i);
        continue;
      }
      float last[kBlock];
      unpack<false>(packed, last);
      std::memcpy(values + i, last, (count - i) * sizeof(float));
    }
  }

  static RINGRUN_INLINE void combine(const std::uint8_t* const* terms, std::size_t termCount, std::uint8_t* packed, float* error,
                                     std::size_t count) {
    float sum[kBlock];
    float lost[kBlock];
    for (std::size_t i = 0, at = 0; i < count; i += kBlock, at += kBlockBytes) {
      unpack<false>(terms[0] + at, sum);
      for (std::size_t k = 1; k < termCount; ++k) unpack<true>(terms[k] + at, sum);
      const bool isFinite = pack(sum, packed + at, error == nullptr ? nullptr : lost);
      if (error == nullptr || !isFinite) continue;
      const std::size_t length = count - i < kBlock ? count - i : kBlock;
      for (std::size_t k = 0; k < length; ++k) error[i + k] += lost[k];
    }
  }
};

// The kernels as classes for instruction_sets.h.

template <int Bits>
struct Quantize {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* values, std::size_t divisor, const float* error, std::uint8_t* packed, float* newError,
                                 std::size_t count) {
    QuantizeBlocks<Bytes, Bits>::quantize(values, divisor, error, packed, newError, count);
  }
};

template <int Bits>
struct Dequantize {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const std::uint8_t* packed, float* values, std::size_t count) {
    QuantizeBlocks<Bytes, Bits>::dequantize(packed, values, count);
  }
};

template <int Bits>
struct CombineQuantized {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const std::uint8_t* const* terms, std::size_t termCount, std::uint8_t* packed, float* error,
                                 std::size_t count) {
    QuantizeBlocks<Bytes, Bits>::combine(terms, termCount, packed, error, count);
  }
};

#undef RINGRUN_INLINE

}  // namespace ringrun
