#include "operators/product/vector_kernels.h"

#include <cstring>

#include "operators/product/blocks.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

template <std::size_t Bytes>
struct FloatStep {
  using Element = float;
  typedef float Numbers __attribute__((vector_size(Bytes)));
  typedef Numbers Weights;
  typedef float Left;
  static constexpr std::size_t kRows = 1;
  static constexpr bool kIsLarge = false;

  static RINGRUN_INLINE void loadWeights(const float* from, Weights& to) { std::memcpy(&to, from, Bytes); }
  static RINGRUN_INLINE void loadLeft(const float* from, Left& to) { to = *from; }
  static RINGRUN_INLINE void add(const Weights& weights, const Left& left, Numbers& sum) { sum += weights * left; }
};

// A pair of bfloat16 numbers is a word, whose upper half is the second one.
template <std::size_t Bytes>
struct WideningStep {
  using Element = std::uint16_t;
  typedef float Numbers __attribute__((vector_size(Bytes)));
  typedef std::uint32_t Words __attribute__((vector_size(Bytes)));
  struct Weights {
    Numbers first, second;
  };
  struct Left {
    float first, second;
  };
  static constexpr std::size_t kRows = 2;
  static constexpr bool kIsLarge = true;

  static RINGRUN_INLINE void loadWeights(const std::uint16_t* from, Weights& to) {
    Words words;
    std::memcpy(&words, from, Bytes);
    const Words first = words << 16;
    const Words second = words & 0xffff0000u;
    std::memcpy(&to.first, &first, Bytes);
    std::memcpy(&to.second, &second, Bytes);
  }
  static RINGRUN_INLINE void loadLeft(const std::uint16_t* from, Left& to) {
    to.first = BFloat16::widened(from[0]);
    to.second = BFloat16::widened(from[1]);
  }
  static RINGRUN_INLINE void add(const Weights& weights, const Left& left, Numbers& sum) {
    sum += weights.first * left.first;
    sum += weights.second * left.second;
  }
};

struct Multiply {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const PanelProduct& product) {
    ProductBlocksOf<FloatStep<Bytes>, Bytes>::multiply(product);
  }
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const HalfPanelProduct& product) {
    ProductBlocksOf<WideningStep<Bytes>, Bytes>::multiply(product);
  }
};

#undef RINGRUN_INLINE

}  // namespace

// 16 bytes: the vectors of every processor, and NEON's.
void multiplyPlain(const PanelProduct& product) { Multiply::run<16>(product); }
void multiplyPlain(const HalfPanelProduct& product) { Multiply::run<16>(product); }

#if defined(__x86_64__)
void multiplyAvx2(const PanelProduct& product) { runWithAvx2<Multiply>(product); }
void multiplyAvx2(const HalfPanelProduct& product) { runWithAvx2<Multiply>(product); }
void multiplyAvx512(const PanelProduct& product) { runWithAvx512<Multiply>(product); }
void multiplyAvx512(const HalfPanelProduct& product) { runWithAvx512<Multiply>(product); }
#endif

}  // namespace ringrun
