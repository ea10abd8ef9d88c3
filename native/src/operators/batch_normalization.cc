#include "operators/batch_normalization.h"

#include <algorithm>
#include <cstring>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// Elements whose sum is in float32: at most 64 in each lane, because two sums alternate.
constexpr std::size_t kChannelBlock = 2048;
constexpr std::size_t kSums = 2;

// Calls body(offset, count) for every 16 elements of `runs` runs, restricted to [from, from + count).
template <typename Body>
RINGRUN_INLINE void forEachVector(const ChannelRuns& shape, std::size_t first, std::size_t runs, std::size_t from, std::size_t count,
                                  const Body& body) {
  for (std::size_t run = first; run < first + runs; ++run) {
    const std::size_t start = run * shape.stride + from;
    std::size_t i = 0;
    for (; i + kSums * kLanes <= count; i += kSums * kLanes) {
      for (std::size_t k = 0; k < kSums; ++k) body(start + i + k * kLanes, kLanes, k);
    }
    for (; i < count; i += kLanes) body(start + i, std::min(count - i, kLanes), std::size_t{0});
  }
}

// Calls body(first, runs, from, count) for blocks of about kChannelBlock elements: several runs, or a part of one.
template <typename Body>
RINGRUN_INLINE void forEachBlock(const ChannelRuns& shape, const Body& body) {
  const std::size_t runs = std::max<std::size_t>(1, kChannelBlock / shape.inner);
  for (std::size_t first = 0; first < shape.outer; first += runs) {
    for (std::size_t from = 0; from < shape.inner; from += kChannelBlock) {
      body(first, std::min(runs, shape.outer - first), from, std::min(kChannelBlock, shape.inner - from));
    }
  }
}

// Adds up x − origin and its square over a block.
template <std::size_t Bytes, typename T>
RINGRUN_INLINE void sumBlock(const ChannelRuns& shape, std::size_t first, std::size_t runs, std::size_t from, std::size_t length,
                             const T* x, float origin, double& sum, double& squares) {
  Lanes<Bytes> v, sums[kSums], products[kSums];
  for (auto& lanes : sums) lanes.fill(0);
  for (auto& lanes : products) lanes.fill(0);
  forEachVector(shape, first, runs, from, length, [&](std::size_t at, std::size_t some, std::size_t k) __attribute__((always_inline)) {
    v.load(x + at, some, origin);
    for (std::size_t j = 0; j < v.kVectors; ++j) {
      const auto centered = v[j] - origin;
      sums[k][j] += centered;
      products[k][j] += centered * centered;
    }
  });
  sum = sums[0].sum() + sums[1].sum();
  squares = products[0].sum() + products[1].sum();
}

struct BatchStatistics {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const ChannelRuns& given, const T* x, ChannelStatistics& to) {
    const ChannelRuns shape = given;
    double count = 0, mean = 0, squares = 0;
    forEachBlock(shape, [&](std::size_t first, std::size_t runs, std::size_t from, std::size_t length) __attribute__((always_inline)) {
      const auto elements = static_cast<double>(runs * length);
      double sum, products;
      if (count == 0) {
        sumBlock<Bytes>(shape, first, runs, from, length, x, 0, sum, products);
        mean = sum / elements;
      }
      const auto origin = static_cast<float>(mean);
      sumBlock<Bytes>(shape, first, runs, from, length, x, origin, sum, products);
      const double distance = sum / elements;
      const double between = static_cast<double>(origin) + distance - mean;
      const double total = count + elements;
      squares += products - distance * sum + between * between * (count / total) * elements;
      mean += between * (elements / total);
      count = total;
    });
    // ∞ − ∞ is NaN, but the mean of ∞ and numbers is ∞.
    if (mean != mean) {
      double plainSum = 0;
      forEachBlock(shape, [&](std::size_t first, std::size_t runs, std::size_t from, std::size_t length) __attribute__((always_inline)) {
        double sum, products;
        sumBlock<Bytes>(shape, first, runs, from, length, x, 0, sum, products);
        plainSum += sum;
      });
      mean = plainSum / count;
    }
    // Rounding may make the sum of squares negative.
    const double variance = squares / count;
    to = {static_cast<float>(mean), static_cast<float>(variance < 0 ? 0 : variance)};
  }
};

constexpr std::size_t kFlagBits = 32;

std::size_t vectorsOf(const ChannelRuns& runs) { return (runs.inner + kLanes - 1) / kLanes; }

// The flags of the vectors that a loop visits in order, from the first vector of a run on.
template <std::size_t Bytes>
struct Flags {
  using Numbers = typename Lanes<Bytes>::Numbers;
  using Bits = typename Lanes<Bytes>::Bits;
  static constexpr std::size_t kVectors = Lanes<Bytes>::kVectors;
  static constexpr std::size_t kWords = kFlagWords / kVectors;

  Bits bits[kVectors];
  std::size_t next;

  RINGRUN_INLINE void clear() {
    for (auto& vector : bits) vector = Bits{};
  }

  // Sets the elements of the next vector to 0 where they have a flag.
  RINGRUN_INLINE void mask(Lanes<Bytes>& lanes, const std::uint32_t* from) {
    const std::uint32_t bit = std::uint32_t{1} << (next % kFlagBits);
    const std::uint32_t* const words = from + next / kFlagBits * kFlagWords;
    for (std::size_t j = 0; j < kVectors; ++j) {
      Bits some;
      std::memcpy(&some, words + j * kWords, sizeof some);
      lanes[j] = (some & bit) != Bits{} ? Numbers{} : lanes[j];
    }
    ++next;
  }

  // Flags the elements that are at most 0, and sets them to 0. NaN is kept. `to` may be null.
  RINGRUN_INLINE void rectify(Lanes<Bytes>& lanes, std::uint32_t* to) {
    const std::uint32_t bit = std::uint32_t{1} << (next % kFlagBits);
    for (std::size_t j = 0; j < kVectors; ++j) {
      const auto isFlat = lanes[j] <= Numbers{};
      bits[j] |= isFlat ? Bits{} + bit : Bits{};
      lanes[j] = isFlat ? Numbers{} : lanes[j];
    }
    if (++next % kFlagBits == 0) flush(to);
  }

  // Writes the flags of the last vectors, up to 32.
  RINGRUN_INLINE void flush(std::uint32_t* to) {
    if (to != nullptr) std::memcpy(to + (next - 1) / kFlagBits * kFlagWords, bits, sizeof bits);
    clear();
  }
};

struct BatchNormalized {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const ChannelRuns& given, const ChannelNormalization<T>& of) {
    const ChannelRuns shape = given;
    const ChannelNormalization<T> channel = of;
    Lanes<Bytes> v, r;
    Flags<Bytes> flags;
    flags.clear();
    flags.next = 0;
    forEachVector(shape, 0, shape.outer, 0, shape.inner, [&](std::size_t at, std::size_t some, std::size_t) __attribute__((always_inline)) {
      v.load(channel.x + at, some, 0);
      for (auto& vector : v.vectors) vector = (vector - channel.mean) * channel.scale + channel.shift;
      if (channel.residual != nullptr) {
        r.load(channel.residual + at, some, 0);
        for (std::size_t j = 0; j < v.kVectors; ++j) v[j] += r[j];
      }
      if (channel.activates) flags.rectify(v, channel.flat);
      v.store(channel.y + at, some);
    });
    if (flags.next % kFlagBits != 0) flags.flush(channel.flat);
  }
};

// g, from the arrays of a ChannelGradientSums or ChannelGradient.
template <std::size_t Bytes, typename Arrays>
RINGRUN_INLINE void loadGradient(Lanes<Bytes>& g, Flags<Bytes>& flags, const Arrays& arrays, std::size_t at, std::size_t some) {
  g.load(arrays.dy + at, some, 0);
  if (arrays.other != nullptr) {
    Lanes<Bytes> other;
    other.load(arrays.other + at, some, 0);
    for (std::size_t j = 0; j < g.kVectors; ++j) g[j] += other[j];
  }
  if (arrays.flat != nullptr) flags.mask(g, arrays.flat);
}

struct GradientSums {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const ChannelRuns& given, const ChannelGradientSums<T>& of, ChannelSums& to) {
    const ChannelRuns shape = given;
    const ChannelGradientSums<T> channel = of;
    double sum = 0, dot = 0;
    Flags<Bytes> flags;
    flags.next = 0;
    forEachBlock(shape, [&](std::size_t first, std::size_t runs, std::size_t from, std::size_t length) __attribute__((always_inline)) {
      Lanes<Bytes> g, v, sums[kSums], products[kSums];
      for (auto& lanes : sums) lanes.fill(0);
      for (auto& lanes : products) lanes.fill(0);
      forEachVector(shape, first, runs, from, length, [&](std::size_t at, std::size_t some, std::size_t k) __attribute__((always_inline)) {
        loadGradient(g, flags, channel, at, some);
        v.load(channel.x + at, some, channel.mean);
        for (std::size_t j = 0; j < v.kVectors; ++j) {
          sums[k][j] += g[j];
          products[k][j] += g[j] * (v[j] - channel.mean);
        }
        if (channel.g != nullptr) g.store(channel.g + at, some);
      });
      sum += sums[0].sum() + sums[1].sum();
      dot += products[0].sum() + products[1].sum();
    });
    to = {sum, dot};
  }
};

struct BatchGradient {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const ChannelRuns& given, const ChannelGradient<T>& of) {
    const ChannelRuns shape = given;
    const ChannelGradient<T> channel = of;
    const std::size_t vectors = vectorsOf(shape);
    Lanes<Bytes> g, v;
    Flags<Bytes> flags;
    // Starts at the last run, which sumsOfGradient has left in the cache.
    for (std::size_t run = shape.outer; run-- > 0;) {
      flags.next = run * vectors;
      forEachVector(shape, run, 1, 0, shape.inner, [&](std::size_t at, std::size_t some, std::size_t) __attribute__((always_inline)) {
        loadGradient(g, flags, channel, at, some);
        v.load(channel.x + at, some, channel.mean);
        for (std::size_t j = 0; j < v.kVectors; ++j) {
          v[j] = g[j] * channel.ofGradient + ((v[j] - channel.mean) * channel.ofCentered + channel.constant);
        }
        v.store(channel.dx + at, some);
      });
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

std::size_t flagWordsOf(const ChannelRuns& runs) {
  return (runs.outer * vectorsOf(runs) + kFlagBits - 1) / kFlagBits * kFlagWords;
}

template <typename T>
ChannelStatistics statisticsOf(const ChannelRuns& runs, const T* x) {
  ChannelStatistics statistics{};
  runVectorised<BatchStatistics>(runs, x, statistics);
  return statistics;
}

template <typename T>
void normalizeChannel(const ChannelRuns& runs, const ChannelNormalization<T>& channel) {
  runVectorised<BatchNormalized>(runs, channel);
}

template <typename T>
ChannelSums sumsOfGradient(const ChannelRuns& runs, const ChannelGradientSums<T>& channel) {
  ChannelSums sums{};
  runVectorised<GradientSums>(runs, channel, sums);
  return sums;
}

template <typename T>
void differentiateChannel(const ChannelRuns& runs, const ChannelGradient<T>& channel) {
  runVectorised<BatchGradient>(runs, channel);
}

#define RINGRUN_INSTANTIATE(T)                                                          \
  template ChannelStatistics statisticsOf(const ChannelRuns&, const T*);                \
  template void normalizeChannel(const ChannelRuns&, const ChannelNormalization<T>&);   \
  template ChannelSums sumsOfGradient(const ChannelRuns&, const ChannelGradientSums<T>&); \
  template void differentiateChannel(const ChannelRuns&, const ChannelGradient<T>&);
RINGRUN_INSTANTIATE(float)
RINGRUN_INSTANTIATE(std::uint16_t)
#undef RINGRUN_INSTANTIATE

}  // namespace ringrun
