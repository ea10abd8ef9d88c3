#include "operators/direct_convolution.h"

#include <algorithm>
#include <vector>

#include "operators/product/pack.h"
#include "operators/product/panels.h"
#include "operators/vectors.h"
#include "reduce/widen.h"

namespace ringrun {
namespace {

std::size_t ofPanel(const DirectConvolution& c) { return c.paddedChannels() * kLanes; }
std::size_t ofGradientPanel(const DirectConvolution& c) { return paddedInner<std::uint16_t>(c.batch) * kLanes; }

// Packs a panel of a matrix [inner, columns] of bfloat16 numbers.
void pack(const MatrixOperand& matrix, std::size_t inner, std::size_t columns, std::size_t panel, std::uint16_t* to) {
  const std::size_t column = panel * kLanes;
  packPanel(matrix.from(0, column), inner, std::min(kLanes, columns - column), to);
}

// A row with a zero after its numbers.
const std::uint16_t* withZero(const std::uint16_t* row, std::size_t count, std::uint16_t* copy) {
  std::copy_n(row, count, copy);
  copy[count] = 0;
  return copy;
}

}  // namespace

std::optional<std::size_t> DirectConvolution::source(const DirectAxis& axis, std::size_t result, std::size_t tap) const {
  const std::size_t reach = tap * axis.dilation;
  if (!isTransposed) {
    const std::size_t padded = result * axis.stride + reach;
    if (padded < axis.before || padded - axis.before >= axis.size) return std::nullopt;
    return padded - axis.before;
  }
  const std::size_t padded = result + axis.before;
  if (padded < reach || (padded - reach) % axis.stride != 0 || (padded - reach) / axis.stride >= axis.size) return std::nullopt;
  return (padded - reach) / axis.stride;
}

std::size_t packedElements(const DirectConvolution& c) { return c.columns.size * c.rows.size * c.panelsOfBatch() * ofPanel(c); }

void packColumn(const DirectConvolution& c, const std::uint16_t* image, std::size_t column, std::uint16_t* packed) {
  const std::size_t height = c.rows.size;
  for (std::size_t row = 0; row < height; ++row) {
    const std::uint16_t* const from = image + (column * c.channels * height + row) * c.batch;
    for (std::size_t panel = 0; panel < c.panelsOfBatch(); ++panel) {
      std::uint16_t* const to = packed + ((column * height + row) * c.panelsOfBatch() + panel) * ofPanel(c);
      pack({from, true, height * c.batch, 1}, c.channels, c.batch, panel, to);
    }
  }
}

void packWeights(const DirectConvolution& c, const float* weights, std::size_t filter, std::uint16_t* packed) {
  for (std::size_t channel = 0; channel < c.channels; ++channel) {
    const std::size_t pair = c.isTransposed ? channel * c.filters + filter : filter * c.channels + channel;
    for (std::size_t tap = 0; tap < c.taps(); ++tap) {
      packed[(tap * c.filters + filter) * c.paddedChannels() + channel] = BFloat16::narrowed(weights[pair * c.taps() + tap]);
    }
  }
  for (std::size_t channel = c.channels; channel < c.paddedChannels(); ++channel) {
    for (std::size_t tap = 0; tap < c.taps(); ++tap) packed[(tap * c.filters + filter) * c.paddedChannels() + channel] = 0;
  }
}

void convolvePart(const DirectConvolution& c, const std::uint16_t* packedImage, const std::uint16_t* packedWeights, const DirectPart& part,
                  std::uint16_t* result) {
  thread_local AlignedFloats sums;
  thread_local Aligned<std::uint16_t> zeros;
  thread_local std::vector<const std::uint16_t*> panels, from;
  thread_local std::vector<float*> to;
  const std::size_t rows = (part.endRow - part.firstRow + c.rowStep() - 1) / c.rowStep();
  const std::size_t places = rows * c.panelsOfBatch() * kLanes;
  sums.resize(c.filters * places);
  zeros.resize(ofPanel(c));
  std::fill_n(zeros.data(), ofPanel(c), std::uint16_t{0});
  panels.resize(rows * c.panelsOfBatch());
  from.resize(c.filters);
  to.resize(c.filters);
  for (std::size_t m = 0; m < c.filters; ++m) to[m] = sums.data() + m * places;
  bool isFirst = true;
  for (std::size_t tap = 0; tap < c.taps(); ++tap) {
    const auto column = c.source(c.columns, part.column, tap % c.columns.taps);
    if (!column) continue;
    bool reads = false;
    for (std::size_t i = 0; i < panels.size(); ++i) {
      const auto row = c.source(c.rows, part.firstRow + i / c.panelsOfBatch() * c.rowStep(), tap / c.columns.taps);
      reads = reads || row;
      panels[i] = row ? packedImage + ((*column * c.rows.size + *row) * c.panelsOfBatch() + i % c.panelsOfBatch()) * ofPanel(c) : zeros.data();
    }
    if (!reads) continue;
    for (std::size_t m = 0; m < c.filters; ++m) from[m] = packedWeights + (tap * c.filters + m) * c.paddedChannels();
    multiplyPanels(HalfPanelProduct{panels.data(), panels.size(), c.paddedChannels(), from.data(), isFirst ? nullptr : to.data(), to.data(), c.filters});
    isFirst = false;
  }
  if (isFirst) std::fill_n(sums.data(), c.filters * places, 0.0f);
  for (std::size_t m = 0; m < c.filters; ++m) {
    for (std::size_t i = 0; i < panels.size(); ++i) {
      const std::size_t row = part.firstRow + i / c.panelsOfBatch() * c.rowStep(), begin = i % c.panelsOfBatch() * kLanes;
      std::uint16_t* const own = result + ((part.column * c.filters + m) * c.rows.results + row) * c.batch + begin;
      narrow(DType::BFloat16, to[m] + i * kLanes, own, std::min(kLanes, c.batch - begin));
    }
  }
}

std::size_t packedGradientElements(const DirectConvolution& c) {
  return c.columns.results * c.rows.results * c.panelsOfFilters() * ofGradientPanel(c);
}

void packGradientColumn(const DirectConvolution& c, const std::uint16_t* gradient, std::size_t column, std::uint16_t* packed) {
  const std::size_t height = c.rows.results;
  for (std::size_t row = 0; row < height; ++row) {
    const std::uint16_t* const from = gradient + (column * c.filters * height + row) * c.batch;
    for (std::size_t panel = 0; panel < c.panelsOfFilters(); ++panel) {
      std::uint16_t* const to = packed + ((column * height + row) * c.panelsOfFilters() + panel) * ofGradientPanel(c);
      pack({from, true, 1, height * c.batch}, c.batch, c.filters, panel, to);
    }
  }
}

void weightGradientOfTap(const DirectConvolution& c, const std::uint16_t* image, const std::uint16_t* packedGradient, std::size_t tap,
                         std::size_t firstChannel, std::size_t endChannel, float* weights) {
  thread_local AlignedFloats sums;
  thread_local Aligned<std::uint16_t> copies;
  thread_local std::vector<const std::uint16_t*> panels, from;
  thread_local std::vector<float*> to;
  const std::size_t batch = paddedInner<std::uint16_t>(c.batch);
  const std::size_t count = endChannel - firstChannel, padded = c.panelsOfFilters() * kLanes;
  sums.resize(count * padded);
  std::fill_n(sums.data(), count * padded, 0.0f);
  panels.resize(c.panelsOfFilters());
  copies.resize(count * batch);
  from.resize(count);
  to.resize(count);
  for (std::size_t i = 0; i < count; ++i) to[i] = sums.data() + i * padded;
  for (std::size_t o = 0; o < c.columns.results; ++o) {
    const auto column = c.source(c.columns, o, tap % c.columns.taps);
    if (!column) continue;
    for (std::size_t r = 0; r < c.rows.results; ++r) {
      const auto row = c.source(c.rows, r, tap / c.columns.taps);
      if (!row) continue;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint16_t* const own = image + ((*column * c.channels + firstChannel + i) * c.rows.size + *row) * c.batch;
        from[i] = batch == c.batch ? own : withZero(own, c.batch, copies.data() + i * batch);
      }
      for (std::size_t panel = 0; panel < panels.size(); ++panel) {
        panels[panel] = packedGradient + ((o * c.rows.results + r) * panels.size() + panel) * ofGradientPanel(c);
      }
      multiplyPanels(HalfPanelProduct{panels.data(), panels.size(), batch, from.data(), to.data(), to.data(), count});
    }
  }
  for (std::size_t m = 0; m < c.filters; ++m) {
    for (std::size_t i = 0; i < count; ++i) weights[(m * c.channels + firstChannel + i) * c.taps() + tap] = to[i][m];
  }
}

}  // namespace ringrun
