#include "operators/max_pool.h"

#include <algorithm>
#include <cstring>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// The bit pattern of +∞, without the sign bit.
constexpr std::uint32_t kInfinityBits = 0xff000000u;

// Places of 16 windows, as integers of the same width as the compared elements.
template <std::size_t Bytes>
struct Places {
  using Bits = typename Lanes<Bytes>::Bits;
  typedef Place Narrow __attribute__((vector_size(Bytes / sizeof(float))));
  static constexpr std::size_t kVectors = Lanes<Bytes>::kVectors;

  Bits vectors[kVectors];

  RINGRUN_INLINE void load(const Place* from) {
    for (std::size_t j = 0; j < kVectors; ++j) {
      Narrow narrow;
      std::memcpy(&narrow, from + j * sizeof narrow, sizeof narrow);
      vectors[j] = __builtin_convertvector(narrow, Bits);
    }
  }
  // Replaces numbers by larger ones, and by NaN, and updates their places. NaN + NaN is NaN, and storing a place removes
  // the 256: g++ 12 would merge selections of equal values, and compute the merged condition lane by lane.
  RINGRUN_INLINE void takeLarger(Lanes<Bytes>& largest, const Lanes<Bytes>& v, std::uint32_t place) {
    for (std::size_t j = 0; j < kVectors; ++j) {
      Bits bits;
      std::memcpy(&bits, &v[j], sizeof bits);
      const auto isNaN = (bits << 1) > kInfinityBits;
      const auto isLarger = v[j] > largest[j];
      vectors[j] = isLarger ? Bits{} + place : vectors[j];
      vectors[j] = isNaN ? Bits{} + (place + 256) : vectors[j];
      largest[j] = isLarger ? v[j] : largest[j];
      largest[j] = isNaN ? v[j] + v[j] : largest[j];
    }
  }
  RINGRUN_INLINE void store(Place* to) const {
    for (std::size_t j = 0; j < kVectors; ++j) {
      const Narrow narrow = __builtin_convertvector(vectors[j], Narrow);
      std::memcpy(to + j * sizeof narrow, &narrow, sizeof narrow);
    }
  }
};

// Calls body(offset in the image, in the result, in the places, elements) for every 16 adjacent windows.
template <typename Body>
RINGRUN_INLINE void forEachWindows(const PoolWindows& shape, const Body& body) {
  const std::size_t placesRow = placesOfRow(shape.batch);
  for (std::size_t w = 0; w < shape.wide; ++w) {
    for (std::size_t h = 0; h < shape.high; ++h) {
      const std::size_t x = w * shape.columns * shape.imageColumn() + h * shape.rows * shape.batch;
      const std::size_t y = w * shape.resultColumn() + h * shape.batch;
      const std::size_t places = (w * shape.channels * shape.high + h) * placesRow;
      for (std::size_t n = 0; n < shape.batch; n += kLanes) body(x + n, y + n, places + n, std::min(shape.batch - n, kLanes));
    }
  }
}

// Calls body(offset from the window's first element, place) for the elements of a window.
template <typename Body>
RINGRUN_INLINE void forEachPlace(const PoolWindows& shape, const Body& body) {
  const std::size_t column = shape.imageColumn();
  std::uint32_t place = 0;
  for (std::size_t r = 0; r < shape.rows; ++r) {
    for (std::size_t c = 0; c < shape.columns; ++c) body(c * column + r * shape.batch, place++);
  }
}

// The loops over a window of 2 × 2, the usual one, have no counters.
template <typename Run>
RINGRUN_INLINE void withWindows(const PoolWindows& given, const Run& run) {
  if (given.rows == 2 && given.columns == 2) {
    return run(PoolWindows{2, 2, given.high, given.wide, given.channels, given.batch});
  }
  run(PoolWindows(given));
}

struct Pooled {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const PoolWindows& given, const PooledChannel<T>& of) {
    const PooledChannel<T> channel = of;
    withWindows(given, [&](const PoolWindows& shape) __attribute__((always_inline)) {
      using Numbers = typename Lanes<Bytes>::Numbers;
      using Bits = typename Lanes<Bytes>::Bits;
      const auto flat = static_cast<std::uint32_t>(shape.rows * shape.columns);
      Lanes<Bytes> largest, v;
      Places<Bytes> places;
      forEachWindows(shape, [&](std::size_t from, std::size_t to, std::size_t at, std::size_t some) __attribute__((always_inline)) {
        largest.load(channel.x + from, some, 0);
        for (auto& vector : places.vectors) vector = Bits{};
        forEachPlace(shape, [&](std::size_t offset, std::uint32_t place) __attribute__((always_inline)) {
          if (place == 0) return;
          v.load(channel.x + from + offset, some, 0);
          places.takeLarger(largest, v, place);
        });
        for (std::size_t j = 0; j < v.kVectors; ++j) {
          largest[j] += channel.bias;
          if (!channel.activates) continue;
          const auto isFlat = largest[j] <= Numbers{};
          largest[j] = isFlat ? Numbers{} : largest[j];
          places.vectors[j] = isFlat ? Bits{} + flat : places.vectors[j];
        }
        if (channel.y != nullptr) largest.store(channel.y + to, some);
        if (channel.places != nullptr) places.store(channel.places + at);
      });
    });
  }
};

struct PooledGradient {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const PoolWindows& given, const PooledChannelGradient<T>& of, double& to) {
    const PooledChannelGradient<T> channel = of;
    double total = 0;
    withWindows(given, [&](const PoolWindows& shape) __attribute__((always_inline)) {
      using Numbers = typename Lanes<Bytes>::Numbers;
      const auto flat = static_cast<std::uint32_t>(shape.rows * shape.columns);
      // Vectors whose sum is in float32.
      constexpr std::size_t kBlock = 64;
      std::size_t added = 0;
      Lanes<Bytes> d, sums, routed;
      Places<Bytes> places;
      sums.fill(0);
      forEachWindows(shape, [&](std::size_t to, std::size_t from, std::size_t at, std::size_t some) __attribute__((always_inline)) {
        d.load(channel.dy + from, some, 0);
        places.load(channel.places + at);
        for (std::size_t j = 0; j < d.kVectors; ++j) {
          d[j] = places.vectors[j] != flat ? d[j] : Numbers{};
          sums[j] += d[j];
        }
        if (++added % kBlock == 0) {
          total += sums.sum();
          sums.fill(0);
        }
        if (channel.dx == nullptr) return;
        forEachPlace(shape, [&](std::size_t offset, std::uint32_t place) __attribute__((always_inline)) {
          for (std::size_t j = 0; j < d.kVectors; ++j) routed[j] = places.vectors[j] == place ? d[j] : Numbers{};
          routed.store(channel.dx + to + offset, some);
        });
      });
      total += sums.sum();
    });
    to = total;
  }
};

#undef RINGRUN_INLINE

}  // namespace

std::size_t placesOfRow(std::size_t batch) { return (batch + kLanes - 1) / kLanes * kLanes; }

template <typename T>
void poolChannel(const PoolWindows& windows, const PooledChannel<T>& channel) {
  runVectorised<Pooled>(windows, channel);
}

template <typename T>
double differentiatePool(const PoolWindows& windows, const PooledChannelGradient<T>& channel) {
  double sum = 0;
  runVectorised<PooledGradient>(windows, channel, sum);
  return sum;
}

#define RINGRUN_INSTANTIATE(T)                                         \
  template void poolChannel(const PoolWindows&, const PooledChannel<T>&); \
  template double differentiatePool(const PoolWindows&, const PooledChannelGradient<T>&);
RINGRUN_INSTANTIATE(float)
RINGRUN_INSTANTIATE(std::uint16_t)
#undef RINGRUN_INSTANTIATE

}  // namespace ringrun
