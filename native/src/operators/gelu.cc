#include "operators/gelu.h"

#include <limits>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// x ← erf(x), with an absolute error of at most 2e-7: x times a quotient of polynomials in x² (the coefficients are
// Eigen's). NaN is kept.
template <std::size_t Bytes>
RINGRUN_INLINE void errorFunction(Lanes<Bytes>& x) {
  using Numbers = typename Lanes<Bytes>::Numbers;
  // Beyond, erf is ±1 in float32.
  constexpr float kMost = 3.92f;
  for (Numbers& vector : x.vectors) {
    const Numbers v = vector;
    const Numbers s = v * v;
    Numbers p = s * -2.72614225801306e-10f + 2.77068142495902e-08f;
    p = p * s + -2.10102402082508e-06f;
    p = p * s + -5.69250639462346e-05f;
    p = p * s + -7.34990630326855e-04f;
    p = p * s + -2.95459980854025e-03f;
    p = p * s + -1.60960333262415e-02f;
    Numbers q = s * -1.45660718464996e-05f + -2.13374055278905e-04f;
    q = q * s + -1.68282697438203e-03f;
    q = q * s + -7.37332916720468e-03f;
    q = q * s + -1.42647390514189e-02f;
    Numbers result = v * p / q;
    result = v > kMost ? 1.0f - Numbers{} : result;
    vector = v < -kMost ? -1.0f - Numbers{} : result;
  }
}

constexpr float kSqrtHalf = 0.707106781186547524f;
constexpr float kDensityAt0 = 0.398942280401432678f;  // 1 / √(2π)

struct Gelu {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const T* from, std::size_t count, T* to) {
    Lanes<Bytes> x, erf;
    for (std::size_t i = 0; i < count; i += kLanes) {
      x.load(from + i, count - i, 0);
      for (std::size_t k = 0; k < x.kVectors; ++k) erf[k] = x[k] * kSqrtHalf;
      errorFunction(erf);
      for (std::size_t k = 0; k < x.kVectors; ++k) x[k] = (x[k] * 0.5f) * (erf[k] + 1.0f);
      x.store(to + i, count - i);
    }
  }
};

struct GeluGradient {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const T* dy, const T* from, std::size_t count, T* dx) {
    Lanes<Bytes> x, d, erf, density;
    for (std::size_t i = 0; i < count; i += kLanes) {
      x.load(from + i, count - i, 0);
      d.load(dy + i, count - i, 0);
      for (std::size_t k = 0; k < x.kVectors; ++k) {
        erf[k] = x[k] * kSqrtHalf;
        density[k] = (x[k] * x[k]) * -0.5f;
      }
      errorFunction(erf);
      exponentiate(density);
      for (std::size_t k = 0; k < x.kVectors; ++k) {
        d[k] *= (erf[k] + 1.0f) * 0.5f + x[k] * density[k] * kDensityAt0;
      }
      d.store(dx + i, count - i);
    }
  }
};

// u ← exp(−2u), from which follow (1 + tanh u) / 2 = 1 / (1 + exp(−2u)) and (1 − tanh u) / 2 without cancellation.
template <std::size_t Bytes>
RINGRUN_INLINE void exponentialOf(Lanes<Bytes>& u) {
  for (auto& vector : u.vectors) vector *= -2.0f;
  exponentiate(u);
}

constexpr float kCubic = 0.044715f;
constexpr float kSlopeAt0 = 0.797884560802865356f;  // √(2/π)

struct TanhGelu {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const T* from, std::size_t count, T* to) {
    Lanes<Bytes> x, e;
    for (std::size_t i = 0; i < count; i += kLanes) {
      x.load(from + i, count - i, 0);
      for (std::size_t k = 0; k < x.kVectors; ++k) e[k] = (x[k] + x[k] * x[k] * x[k] * kCubic) * kSlopeAt0;
      exponentialOf(e);
      for (std::size_t k = 0; k < x.kVectors; ++k) x[k] *= 1.0f / (e[k] + 1.0f);
      x.store(to + i, count - i);
    }
  }
};

struct TanhGeluGradient {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const T* dy, const T* from, std::size_t count, T* dx) {
    Lanes<Bytes> x, d, e;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < count; i += kLanes) {
      x.load(from + i, count - i, 0);
      d.load(dy + i, count - i, 0);
      for (std::size_t k = 0; k < x.kVectors; ++k) e[k] = (x[k] + x[k] * x[k] * x[k] * kCubic) * kSlopeAt0;
      exponentialOf(e);
      for (std::size_t k = 0; k < x.kVectors; ++k) {
        using Numbers = typename Lanes<Bytes>::Numbers;
        const Numbers share = 1.0f / (e[k] + 1.0f);
        const Numbers product = e[k] * share;
        const Numbers rest = e[k] == kInfinity ? 1.0f - Numbers{} : product;
        const Numbers slope = (x[k] * x[k] * (3 * kCubic) + 1.0f) * (2 * kSlopeAt0);
        d[k] *= share + x[k] * (share * rest) * slope;
      }
      d.store(dx + i, count - i);
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

template <typename T>
void gelu(const T* x, std::size_t count, T* y) {
  runVectorised<Gelu>(x, count, y);
}

template <typename T>
void geluGradient(const T* dy, const T* x, std::size_t count, T* dx) {
  runVectorised<GeluGradient>(dy, x, count, dx);
}

template <typename T>
void tanhGelu(const T* x, std::size_t count, T* y) {
  runVectorised<TanhGelu>(x, count, y);
}

template <typename T>
void tanhGeluGradient(const T* dy, const T* x, std::size_t count, T* dx) {
  runVectorised<TanhGeluGradient>(dy, x, count, dx);
}

template void gelu(const float*, std::size_t, float*);
template void gelu(const std::uint16_t*, std::size_t, std::uint16_t*);
template void geluGradient(const float*, const float*, std::size_t, float*);
template void geluGradient(const std::uint16_t*, const std::uint16_t*, std::size_t, std::uint16_t*);
template void tanhGelu(const float*, std::size_t, float*);
template void tanhGelu(const std::uint16_t*, std::size_t, std::uint16_t*);
template void tanhGeluGradient(const float*, const float*, std::size_t, float*);
template void tanhGeluGradient(const std::uint16_t*, const std::uint16_t*, std::size_t, std::uint16_t*);

}  // namespace ringrun
