#pragma once

#include <cstddef>

namespace ringrun {

// A correlation by Toom-Cook's algorithm along the width (packages/nn/src/ops/toom-cook.ts), of images whose batch is
// innermost: images [W,C,H,N] and weights [M,C,K,J] give results [O,M,R,N],
//
//   result[o,m,r,n] = Σ over c, k, j of weights[m,c,k,j] · image[o + j − left, c, r + k·dilation − before, n],
//
// image = 0 outside. `tile` columns of results depend on `points` columns of the image. The transforms of both lead to
// `points` products of matrices, in which rows of the height and images of the batch are places of one axis, R·N long: a tap
// of the height is a shift by dilation·N places. Parts of the places stay in the processor's cache from the image to the result.
struct ToomCookConvolution {
  std::size_t tile = 0;
  std::size_t points = 0;
  const float* inputTransform = nullptr;   // [points, points]
  const float* outputTransform = nullptr;  // [tile, points]
  const float* weightTransform = nullptr;  // [points, columnTaps]

  std::size_t filters = 0;     // M
  std::size_t channels = 0;    // C
  std::size_t rowTaps = 0;     // K
  std::size_t columnTaps = 0;  // J
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t resultWidth = 0;
  std::size_t resultHeight = 0;
  std::size_t batch = 0;
  std::size_t dilation = 1;
  // Rows and columns of zeros before the image; if negative, those of the image that are left out.
  std::ptrdiff_t before = 0;
  std::ptrdiff_t left = 0;

  // The largest number of points.
  static constexpr std::size_t kMostPoints = 8;

  std::size_t tiles() const { return (resultWidth + tile - 1) / tile; }
  std::size_t places() const { return resultHeight * batch; }
  // Places of the image for one tap, C·K rows.
  std::size_t inner() const { return channels * rowTaps; }
  // Places between those of the first and of the last tap.
  std::size_t reach() const { return rowTaps == 0 ? 0 : (rowTaps - 1) * dilation * batch; }
  std::size_t paddedFilters() const;
  // True if the weights are so few that the sums of their gradient stay in the second-level cache, with 16 lanes each: then
  // no panel of 16 filters is partly empty. 6 filters of 5×5 over [32,3,32,64]: 0.3 instead of 1.2 ms.
  bool hasFewWeights() const { return filters * inner() <= 512; }
};

// Places begin … end − 1 of the results of a tile.
struct TilePart {
  std::size_t tile;
  std::size_t begin;
  std::size_t end;

  std::size_t length() const { return end - begin; }
};

// The weights of some filters at the points: [points, M, C·K]. With `isTransposed`, the weights are [C,M,K,J] of the map whose
// transpose this is, so that their taps are read in reverse order.
void weightsAtPoints(const ToomCookConvolution& c, const float* weights, bool isTransposed, std::size_t firstFilter, std::size_t endFilter, float* to);

void convolvePart(const ToomCookConvolution& c, const float* image, const float* weightsAtPoints, const TilePart& part, float* result);

// The gradient of the weights has four steps; the first three for each part of each tile.
//
// 1. A channel of the image at the points: [points, C, length + reach].
void imageAtPoints(const ToomCookConvolution& c, const float* image, const TilePart& part, std::size_t channel, float* to);
// 2. A panel of 16 filters of the results' gradient at the points: [points, panels, length, 16]; or one filter as a row of its
//    own, [points, M, length], if there are few products.
void gradientAtPoints(const ToomCookConvolution& c, const float* gradient, const TilePart& part, std::size_t panel, float* to);
void gradientRowAtPoints(const ToomCookConvolution& c, const float* gradient, const TilePart& part, std::size_t filter, float* to);
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
