#include "operators/transpose.h"

#include <cstring>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// The words of two vectors in turn: those of their lower halves, or of their upper halves.
template <std::size_t Bytes>
struct Interleave;

#if defined(__clang__)
#define RINGRUN_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define RINGRUN_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, Words{__VA_ARGS__})
#endif
#define RINGRUN_INTERLEAVE(bytes, lowerWords, upperWords)                     \
  template <>                                                                 \
  struct Interleave<bytes> {                                                  \
    typedef std::uint32_t Words __attribute__((vector_size(bytes)));          \
    static RINGRUN_INLINE void lower(const Words& a, const Words& b, Words& to) { to = RINGRUN_SHUFFLE(a, b, lowerWords); } \
    static RINGRUN_INLINE void upper(const Words& a, const Words& b, Words& to) { to = RINGRUN_SHUFFLE(a, b, upperWords); } \
  };
#define RINGRUN_LIST(...) __VA_ARGS__
RINGRUN_INTERLEAVE(16, RINGRUN_LIST(0, 4, 1, 5), RINGRUN_LIST(2, 6, 3, 7))
RINGRUN_INTERLEAVE(32, RINGRUN_LIST(0, 8, 1, 9, 2, 10, 3, 11), RINGRUN_LIST(4, 12, 5, 13, 6, 14, 7, 15))
RINGRUN_INTERLEAVE(64, RINGRUN_LIST(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                   RINGRUN_LIST(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
#undef RINGRUN_LIST
#undef RINGRUN_INTERLEAVE
#undef RINGRUN_SHUFFLE

struct TransposeWords {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const WordMatrix& given, std::uint32_t* to, std::size_t toStride) {
    const WordMatrix from = given;
    constexpr std::size_t kWidth = Bytes / sizeof(std::uint32_t);
    const auto* const bytes = static_cast<const char*>(from.data);
    const std::size_t rows = from.rows / kWidth * kWidth;
    const std::size_t columns = from.columns / kWidth * kWidth;
    for (std::size_t row = 0; row < rows; row += kWidth) {
      for (std::size_t column = 0; column < columns; column += kWidth) {
        block<Bytes>(bytes + row * from.stride + column * sizeof(std::uint32_t), from.stride, to + column * toStride + row, toStride);
      }
      words(from, row, row + kWidth, columns, to, toStride);
    }
    words(from, rows, from.rows, 0, to, toStride);
  }

 private:
  // The bits of (row, column) rotate by one place in every step, until rows and columns have changed places.
  template <std::size_t Bytes>
  static RINGRUN_INLINE void block(const char* from, std::size_t stride, std::uint32_t* to, std::size_t toStride) {
    typedef typename Interleave<Bytes>::Words Words;
    constexpr std::size_t kWidth = Bytes / sizeof(std::uint32_t);
    Words rows[kWidth], next[kWidth];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kWidth; ++i) std::memcpy(&rows[i], from + i * stride, Bytes);
#pragma GCC unroll 4
    for (std::size_t step = 1; step < kWidth; step *= 2) {
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kWidth / 2; ++i) {
        Interleave<Bytes>::lower(rows[i], rows[i + kWidth / 2], next[2 * i]);
        Interleave<Bytes>::upper(rows[i], rows[i + kWidth / 2], next[2 * i + 1]);
      }
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kWidth; ++i) rows[i] = next[i];
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kWidth; ++i) std::memcpy(to + i * toStride, &rows[i], Bytes);
  }

  // The words of rows from `begin` below `end`, and of columns from `firstColumn` on.
  static RINGRUN_INLINE void words(const WordMatrix& from, std::size_t begin, std::size_t end, std::size_t firstColumn, std::uint32_t* to,
                                   std::size_t toStride) {
    for (std::size_t row = begin; row < end; ++row) {
      const char* const source = static_cast<const char*>(from.data) + row * from.stride;
      for (std::size_t column = firstColumn; column < from.columns; ++column) {
        std::memcpy(to + column * toStride + row, source + column * sizeof(std::uint32_t), sizeof(std::uint32_t));
      }
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

void transposeWords(const WordMatrix& from, std::uint32_t* to, std::size_t toStride) { runVectorised<TransposeWords>(from, to, toStride); }

}  // namespace ringrun
