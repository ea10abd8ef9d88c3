#include "operators/attention_tiles.h"

#include <limits>

#include "reduce/widen.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// `columns` of rows that are kQueriesOfBlock apart, and the mask's own strides.
struct ScoresTile {
  float* scores;
  std::size_t rows;
  std::size_t columns;
  float scale;
  const float* added;
  const std::uint8_t* allowed;
  std::size_t rowStride;
  std::size_t columnStride;
};

struct CompleteScores {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const ScoresTile& given) {
    const ScoresTile tile = given;
    for (std::size_t row = 0; row < tile.rows; ++row) {
      float* const x = tile.scores + row * kQueriesOfBlock;
      const std::size_t first = row * tile.rowStride;
      if (tile.added != nullptr) {
        add(x, tile.added + first, tile);
      } else if (tile.allowed != nullptr) {
        select(x, tile.allowed + first, tile);
      } else {
        for (std::size_t i = 0; i < tile.columns; ++i) x[i] *= tile.scale;
      }
    }
  }

 private:
  // A loop for each common stride, which compilers vectorise.
  static RINGRUN_INLINE void add(float* x, const float* mask, const ScoresTile& tile) {
    if (tile.columnStride == 0) {
      for (std::size_t i = 0; i < tile.columns; ++i) x[i] = x[i] * tile.scale + *mask;
    } else if (tile.columnStride == 1) {
      for (std::size_t i = 0; i < tile.columns; ++i) x[i] = x[i] * tile.scale + mask[i];
    } else {
      for (std::size_t i = 0; i < tile.columns; ++i) x[i] = x[i] * tile.scale + mask[i * tile.columnStride];
    }
  }
  static RINGRUN_INLINE void select(float* x, const std::uint8_t* mask, const ScoresTile& tile) {
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    if (tile.columnStride == 0) {
      for (std::size_t i = 0; i < tile.columns; ++i) x[i] = *mask != 0 ? x[i] * tile.scale : kHidden;
    } else if (tile.columnStride == 1) {
      for (std::size_t i = 0; i < tile.columns; ++i) x[i] = mask[i] != 0 ? x[i] * tile.scale : kHidden;
    } else {
      for (std::size_t i = 0; i < tile.columns; ++i) x[i] = mask[i * tile.columnStride] != 0 ? x[i] * tile.scale : kHidden;
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

template <typename T>
void Panels<T>::packRows(const AttentionRows<const T>& rows, std::size_t inner, std::size_t columns) {
  pack({rows.data, kIsHalf<T>, rows.stride, 1}, inner, columns);
  // Rows up to a multiple of 16.
  const std::size_t packed = paddedInner<T>(inner);
  for (std::size_t p = 0; p < count_; ++p) std::fill_n(panel(p) + packed * kLanes, (roundedUp(inner, kLanes) - packed) * kLanes, T{0});
}

template <typename T>
void Panels<T>::packColumns(const AttentionRows<const T>& rows, std::size_t inner, std::size_t columns) {
  pack({rows.data, kIsHalf<T>, 1, rows.stride}, inner, columns);
}

template <typename T>
void Panels<T>::pack(const MatrixOperand& matrix, std::size_t inner, std::size_t columns) {
  resize(inner, columns);
  for (std::size_t p = 0; p < count_; ++p) packPanel(matrix.from(0, p * kLanes), inner, std::min(kLanes, columns - p * kLanes), panel(p));
}

template class Panels<float>;
template class Panels<std::uint16_t>;

template <typename T>
void storeRows(const AttentionRows<float>& from, std::size_t rows, std::size_t size, const AttentionRows<T>& to) {
  for (std::size_t row = 0; row < rows; ++row) {
    if constexpr (kIsHalf<T>) narrow(DType::BFloat16, from[row], to[row], size);
    else std::copy_n(from[row], size, to[row]);
  }
}

template <typename T>
void storeTransposed(const float* from, std::size_t rows, std::size_t size, Aligned<float>& memory, const AttentionRows<T>& to) {
  const std::size_t width = roundedUp(size, kLanes);
  float* const transposed = memory.resize(rows * width);
  transposeWords({from, kQueriesOfBlock * sizeof(float), size, rows}, reinterpret_cast<std::uint32_t*>(transposed), width);
  storeRows<T>({transposed, width}, rows, size, to);
}

template void storeRows(const AttentionRows<float>&, std::size_t, std::size_t, const AttentionRows<float>&);
template void storeRows(const AttentionRows<float>&, std::size_t, std::size_t, const AttentionRows<std::uint16_t>&);
template void storeTransposed(const float*, std::size_t, std::size_t, Aligned<float>&, const AttentionRows<float>&);
template void storeTransposed(const float*, std::size_t, std::size_t, Aligned<float>&, const AttentionRows<std::uint16_t>&);

void completeScores(const AttentionScores& scores, const AttentionTile& tile, float* numbers) {
  const std::size_t at = tile.query * scores.maskQueryStride + tile.key * scores.maskKeyStride;
  // Without a mask, with the padding: a constant number of columns in most tiles.
  const std::size_t columns = scores.hasMask() ? tile.rows : roundedUp(tile.rows, kLanes);
  runVectorised<CompleteScores>(ScoresTile{numbers, tile.keys, columns, scores.scale, scores.added == nullptr ? nullptr : scores.added + at,
                                           scores.allowed == nullptr ? nullptr : scores.allowed + at, scores.maskKeyStride,
                                           scores.maskQueryStride});
}

void dropoutFactorsOf(const AttentionScores& scores, const AttentionTile& tile, float* to) {
  float row[kKeysOfTile];
  for (std::size_t q = 0; q < tile.rows; ++q) {
    dropoutFactors(*scores.dropout, scores.firstWeight + (tile.query + q) * tile.allKeys + tile.key, tile.keys, row);
    for (std::size_t k = 0; k < tile.keys; ++k) to[k * kQueriesOfBlock + q] = row[k];
  }
}

}  // namespace ringrun
