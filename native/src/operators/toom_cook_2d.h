#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrun {

// One axis of a correlation in tiles: `tile` results depend on tile + taps − 1 places of the image, which are as many products.
struct TiledAxis {
  std::size_t tile = 0;
  std::size_t taps = 0;
  std::size_t size = 0;     // of the image
  std::size_t results = 0;
  std::size_t before = 0;   // places of padding before the image
  const float* inputTransform = nullptr;   // [points, points]
  const float* outputTransform = nullptr;  // [tile, points]
  const float* weightTransform = nullptr;  // [points, taps]

  std::size_t points() const { return tile + taps - 1; }
  std::size_t tiles() const { return (results + tile - 1) / tile; }
};

// A correlation without stride and dilation by Toom-Cook's algorithm along height and width at once: tiles of 4×4 results of
// 3×3 taps cost 36 products instead of 144, where tiles of 4 columns (operators/toom_cook.h) cost 72. Images are [W,C,H,N], in
// float32 or bfloat16; everything between image and results is float32.
//
// The transforms lead to one product of matrices for each point: weights [M, C] times the places of a column of tiles, which are
// the batch of each row of tiles. The batch is padded to whole panels of 16 places.
struct ToomCook2d {
  TiledAxis rows;
  TiledAxis columns;
  std::size_t filters = 0;   // M
  std::size_t channels = 0;  // C
  std::size_t batch = 0;     // N

  static constexpr std::size_t kMostPoints = 9;  // of an axis

  std::size_t points() const { return rows.points() * columns.points(); }
  std::size_t panelsOfBatch() const { return (batch + 15) / 16; }
  // Panels of places of a column of tiles.
  std::size_t panels() const { return rows.tiles() * panelsOfBatch(); }
  std::size_t panelsOfFilters() const { return (filters + 15) / 16; }
};

// Panels begin … end − 1 of a column of tiles.
struct PanelRange {
  std::size_t column;
  std::size_t begin;
  std::size_t end;

  std::size_t count() const { return end - begin; }
  std::size_t places() const { return count() * 16; }
};

// The weights of some filters at the points: [points, M, C]. With `isTransposed`, the weights are [C,M,K,J] of the map whose
// transpose this is, so that their taps are read in reverse order.
void weightsAtPoints(const ToomCook2d& c, const float* weights, bool isTransposed, std::size_t firstFilter, std::size_t endFilter, float* to);

// T: float, or std::uint16_t for bfloat16.
template <typename T>
void convolvePart(const ToomCook2d& c, const T* image, const float* weightsAtPoints, const PanelRange& part, T* result);

// The gradient of the weights has four steps; the first three for each part.
//
// 1. A channel of the image at the points: [points, C, places].
template <typename T>
void imageAtPoints(const ToomCook2d& c, const T* image, const PanelRange& part, std::size_t channel, float* to);
// 2. 16 filters of the results' gradient at the points: [points, panels of filters, places, 16].
template <typename T>
void gradientAtPoints(const ToomCook2d& c, const T* gradient, const PanelRange& part, std::size_t panel, float* to);
// Floats of the arrays of steps 1 and 2, for parts of that many places.
std::size_t floatsOfImage(const ToomCook2d& c, std::size_t places);
std::size_t floatsOfGradient(const ToomCook2d& c, std::size_t places);
// 3. Adds the products of both at one point, for channels first … end − 1, to sums [points, C, padded filters].
struct PlacesAtPoints {
  const float* image;
  const float* gradient;
  std::size_t places;
  bool isFirst;
};
void addProducts(const ToomCook2d& c, const PlacesAtPoints& part, std::size_t point, std::size_t firstChannel, std::size_t endChannel, float* sums);
// 4. The gradient [M,C,K,J] of the weights of channels first … end − 1, at most 16.
void weightsFromPoints(const ToomCook2d& c, const float* sums, std::size_t firstChannel, std::size_t endChannel, float* weights);

}  // namespace ringrun
