#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ringrun {

// A convolution in bfloat16 as products of matrices in panels (operators/product/panels.h), without an array of its windows.
// Images are [W,C,H,N]. The places of a batch in one row and column are panels [C, 16], and a tap reads the panels of another
// row and column: stride, dilation and padding only choose the panels.
struct DirectAxis {
  std::size_t taps = 0;
  std::size_t size = 0;     // of the image
  std::size_t results = 0;
  std::size_t stride = 1;
  std::size_t dilation = 1;
  std::size_t before = 0;   // places of padding before the image
};

struct DirectConvolution {
  DirectAxis rows;
  DirectAxis columns;
  std::size_t filters = 0;   // M
  std::size_t channels = 0;  // C
  std::size_t batch = 0;     // N
  // If true, this is the transpose of the convolution with this window: image and results have changed places.
  bool isTransposed = false;

  // Channels with those that complete a pair.
  std::size_t paddedChannels() const { return (channels + 1) / 2 * 2; }
  std::size_t taps() const { return rows.taps * columns.taps; }
  std::size_t panelsOfBatch() const { return (batch + 15) / 16; }
  std::size_t panelsOfFilters() const { return (filters + 15) / 16; }
  // Rows of results that are this far apart read the same taps.
  std::size_t rowStep() const { return isTransposed ? rows.stride : 1; }
  // The place of the image that a tap of a result reads, if any.
  std::optional<std::size_t> source(const DirectAxis& axis, std::size_t result, std::size_t tap) const;
};

// Elements of the packed image.
std::size_t packedElements(const DirectConvolution& c);
// Packs a column of the image: [H, panels of the batch, panel].
void packColumn(const DirectConvolution& c, const std::uint16_t* image, std::size_t column, std::uint16_t* packed);
// The weights [M,C,K,J] of one filter, or [C,M,K,J] of a transpose, rounded: [taps, M, C].
void packWeights(const DirectConvolution& c, const float* weights, std::size_t filter, std::uint16_t* packed);

// Rows of results of one column: firstRow, firstRow + rowStep, … below endRow.
struct DirectPart {
  std::size_t column;
  std::size_t firstRow;
  std::size_t endRow;
};
void convolvePart(const DirectConvolution& c, const std::uint16_t* packedImage, const std::uint16_t* packedWeights, const DirectPart& part,
                  std::uint16_t* result);

// The gradient of the weights, in three steps.
// 1. The gradient of the results in one column as panels of filters: [R, panels of filters, panel].
std::size_t packedGradientElements(const DirectConvolution& c);
void packGradientColumn(const DirectConvolution& c, const std::uint16_t* gradient, std::size_t column, std::uint16_t* packed);
// 2. and 3. The gradient [M,C,K,J] of channels first … end − 1 at one tap.
void weightGradientOfTap(const DirectConvolution& c, const std::uint16_t* image, const std::uint16_t* packedGradient, std::size_t tap,
                         std::size_t firstChannel, std::size_t endChannel, float* weights);

}  // namespace ringrun
