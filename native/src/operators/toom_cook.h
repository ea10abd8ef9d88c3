#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ringrun {

// A correlation by Toom-Cook's algorithm along the width (packages/nn/src/ops/toom-cook.ts), of images whose batch is
// innermost: images [W,C,H,N] and weights [M,C,K,J] give results [O,M,R,N],
//
//   result[o,m,r,n] = Σ over c, k, j of weights[m,c,k,j] · image[o·stride + j − left, c, r·rowStride + k·dilation − before, n],
//
// image = 0 outside. `tile` columns of results depend on `span` columns of the image. The transforms of both lead to
// `points` products of matrices, in which rows of the height and images of the batch are places of one axis, R·N long. The
// rows of the image are split into `rowStride` phases: a tap of the height is a shift of the rows of its phase by a multiple of
// N places. Parts of the places stay in the processor's cache from the image to the result. Images and results are float32 or
// bfloat16; everything in between is float32.
//
// The transpose of a correlation consists of `rowStride` correlations without a stride: its rows ρ, ρ + rowStride, … use the
// same taps, in reverse order (transposedRows).
struct ToomCookConvolution {
  std::size_t tile = 0;
  std::size_t points = 0;
  std::size_t span = 0;
  const float* inputTransform = nullptr;   // [points, span]
  const float* outputTransform = nullptr;  // [tile, points]
  const float* weightTransform = nullptr;  // [points, columnTaps]

  std::size_t filters = 0;     // M
  std::size_t channels = 0;    // C
  std::size_t columnTaps = 0;  // J
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t resultWidth = 0;
  std::size_t resultHeight = 0;
  std::size_t batch = 0;
  // The column of the image that the first tile begins with, and columns from a tile to the next.
  std::ptrdiff_t start = 0;
  std::size_t advance = 0;

  // The rows of the weights in memory, of which firstTap, firstTap + tapStep, … are read, rowTaps of them (K).
  std::size_t kernelRows = 0;
  std::size_t rowTaps = 0;
  std::size_t firstTap = 0;
  std::size_t tapStep = 1;
  // Computes the rows firstRow, firstRow + rowStep, … of the results, resultRows of them (R).
  std::size_t resultRows = 0;
  std::size_t firstRow = 0;
  std::size_t rowStep = 1;
  // One of the two is 1, unless the correlation has a single tap.
  std::size_t rowStride = 1;
  std::size_t dilation = 1;
  // Rows of zeros before the image; if negative, rows of the image that are skipped.
  std::ptrdiff_t before = 0;

  // The largest number of points, of columns of the image and of columns of results of a tile.
  static constexpr std::size_t kMostPoints = 9;

  std::size_t tiles() const { return (resultWidth + tile - 1) / tile; }
  std::size_t places() const { return resultRows * batch; }
  // Places of the image for one tap, C·K rows.
  std::size_t inner() const { return channels * rowTaps; }
  std::size_t phases() const { return std::min(rowStride, rowTaps); }
  std::size_t phaseOf(std::size_t tap) const { return tap % rowStride; }
  // Places between the first tap of a phase and this one.
  std::size_t shiftOf(std::size_t tap) const { return tap / rowStride * dilation * batch; }
  // Places between the first tap of a phase and the last one.
  std::size_t reach(std::size_t phase) const { return (rowTaps - 1 - phase) / rowStride * dilation * batch; }
  // Places of a channel of the image that `length` places of results depend on, phase after phase.
  std::size_t phaseBegin(std::size_t phase, std::size_t length) const;
  std::size_t imageLength(std::size_t length) const { return phaseBegin(phases(), length); }
  std::size_t paddedFilters() const;
  // True if the weights are few enough for the sums of their gradient, with 16 lanes each, to stay in the second-level cache:
  // then no panel of 16 filters is partly empty. 6 filters of 5×5 over [32,3,32,64]: 0.3 instead of 1.2 ms.
  bool hasFewWeights() const { return filters * inner() <= 512; }
};

// Places begin … end − 1 of the results of a tile.
struct TilePart {
  std::size_t tile;
  std::size_t begin;
  std::size_t end;

  std::size_t length() const { return end - begin; }
};

// The rows phase, phase + c.rowStride, … of the transpose of a correlation, whose window c has and whose images and results have
// the sizes in c.
ToomCookConvolution transposedRows(const ToomCookConvolution& c, std::size_t phase);

// The weights of some filters at the points: [points, M, C·K]. With `isTransposed`, the weights are [C,M,K,J] of the map whose
// transpose this is, so that their taps are read in reverse order.
void weightsAtPoints(const ToomCookConvolution& c, const float* weights, bool isTransposed, std::size_t firstFilter, std::size_t endFilter, float* to);

// T: float, or std::uint16_t for bfloat16.
template <typename T>
void convolvePart(const ToomCookConvolution& c, const T* image, const float* weightsAtPoints, const TilePart& part, T* result);

// The gradient of the weights has four steps; the first three for each part of each tile.
//
// 1. A channel of the image at the points: [points, C, imageLength].
template <typename T>
void imageAtPoints(const ToomCookConvolution& c, const T* image, const TilePart& part, std::size_t channel, float* to);
// 2. A panel of 16 filters of the results' gradient at the points: [points, panels, length, 16]; or each filter as its own
//    row, [points, M, length], if the products are few.
template <typename T>
void gradientAtPoints(const ToomCookConvolution& c, const T* gradient, const TilePart& part, std::size_t panel, float* to);
template <typename T>
void gradientRowAtPoints(const ToomCookConvolution& c, const T* gradient, const TilePart& part, std::size_t filter, float* to);
// 3. Adds rows first … end − 1 of the products of both at one point to sums [points, C·K, padded filters].
struct PartAtPoints {
  const float* image;
  const float* gradient;
  std::size_t length;
  bool isFirst;
};
void addProducts(const ToomCookConvolution& c, const PartAtPoints& part, std::size_t point, std::size_t firstRow, std::size_t endRow, float* sums);
//    With few products, the products of all rows as sums of lanes [points, C·K, M, 16] (operators/inner_products.h).
void addInnerProducts(const ToomCookConvolution& c, const PartAtPoints& part, std::size_t point, float* lanes);
void sumLanes(const ToomCookConvolution& c, const float* lanes, std::size_t point, float* sums);
// 4. The gradient [M,C,K,J] of the weights of one channel.
void weightsFromPoints(const ToomCookConvolution& c, const float* sums, std::size_t channel, float* weights);

}  // namespace ringrun
