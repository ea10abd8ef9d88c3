#include "cudnn/convolve.h"

#include <algorithm>

#include "float_formats.h"

namespace fake_cudnn {
namespace {

// A shape with three spatial axes.
struct Extents {
  std::size_t n, c, s[3];

  explicit Extents(const std::vector<int>& shape) : n(static_cast<std::size_t>(shape[0])), c(static_cast<std::size_t>(shape[1])), s{1, 1, 1} {
    for (std::size_t axis = 2; axis < shape.size(); ++axis) s[axis - 2 + 5 - shape.size()] = static_cast<std::size_t>(shape[axis]);
  }
  std::size_t inner() const { return s[0] * s[1] * s[2]; }
};

struct Axes {
  long padding[3] = {0, 0, 0}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};

  explicit Axes(const Convolution& of) {
    const std::size_t first = 3 - of.padding.size();
    for (std::size_t axis = 0; axis < of.padding.size(); ++axis) {
      padding[first + axis] = of.padding[axis];
      stride[first + axis] = of.stride[axis];
      dilation[first + axis] = of.dilation[axis];
    }
  }
};

// [n, c, inner] in memory of either format.
std::size_t place(const Tensor& tensor, const Extents& of, std::size_t n, std::size_t c, std::size_t inner) {
  return tensor.format == 0 ? (n * of.c + c) * of.inner() + inner : (n * of.inner() + inner) * of.c + c;
}

// The elements in the order [n, c, inner].
std::vector<float> read(const Tensor& tensor, const std::uint8_t* data, bool rounds) {
  const Extents of(tensor.shape);
  std::vector<float> values(tensor.elements());
  std::size_t at = 0;
  for (std::size_t n = 0; n < of.n; ++n) {
    for (std::size_t c = 0; c < of.c; ++c) {
      for (std::size_t inner = 0; inner < of.inner(); ++inner, ++at) {
        const float value = fake_gpu::elementOf(data, place(tensor, of, n, c, inner), tensor.isBfloat16());
        values[at] = rounds ? fake_gpu::roundedToTf32(value) : value;
      }
    }
  }
  return values;
}

void write(const Tensor& tensor, std::uint8_t* data, const std::vector<float>& values) {
  const Extents of(tensor.shape);
  std::size_t at = 0;
  for (std::size_t n = 0; n < of.n; ++n) {
    for (std::size_t c = 0; c < of.c; ++c) {
      for (std::size_t inner = 0; inner < of.inner(); ++inner, ++at) {
        fake_gpu::setElement(data, place(tensor, of, n, c, inner), tensor.isBfloat16(), values[at]);
      }
    }
  }
}

// Products of one weight with elements of a row of x, for elements of a row of y.
struct Row {
  std::size_t x, xStride;  // index of the first element, and distance of the next one
  std::size_t w;
  std::size_t y;
  std::size_t count;
};

// The elements of an output axis, from `begin` to `end`, whose tap is inside of the input axis.
struct Range {
  long begin, end;

  Range(const Axes& axes, int axis, std::size_t tap, std::size_t inputs, std::size_t outputs) {
    const long stride = axes.stride[axis];
    const long offset = static_cast<long>(tap) * axes.dilation[axis] - axes.padding[axis];
    begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const long left = static_cast<long>(inputs) - offset;
    end = std::min(static_cast<long>(outputs), left <= 0 ? 0 : (left + stride - 1) / stride);
  }
};

// Calls act(row) for all products of an image with one weight.
template <typename Act>
void forEachRow(const Extents& x, const Extents& y, const Axes& axes, const std::size_t (&taps)[3], Row first, Act act) {
  const auto range = [&](int axis) { return Range(axes, axis, taps[axis], x.s[axis], y.s[axis]); };
  const auto from = [&](int axis, long to) {
    return static_cast<std::size_t>(to * axes.stride[axis] + static_cast<long>(taps[axis]) * axes.dilation[axis] - axes.padding[axis]);
  };
  const Range planes = range(0), lines = range(1), columns = range(2);
  if (columns.begin >= columns.end) return;
  for (long plane = planes.begin; plane < planes.end; ++plane) {
    for (long line = lines.begin; line < lines.end; ++line) {
      Row row = first;
      row.x += (from(0, plane) * x.s[1] + from(1, line)) * x.s[2] + from(2, columns.begin);
      row.xStride = static_cast<std::size_t>(axes.stride[2]);
      row.y += (static_cast<std::size_t>(plane) * y.s[1] + static_cast<std::size_t>(line)) * y.s[2] + static_cast<std::size_t>(columns.begin);
      row.count = static_cast<std::size_t>(columns.end - columns.begin);
      act(row);
    }
  }
}

// Calls act(row) for all products of the convolution.
template <typename Act>
void forEachProduct(const Operands& operands, const Convolution& convolution, Act act) {
  const Extents x(operands.x.shape), w(operands.w.shape), y(operands.y.shape);
  const Axes axes(convolution);
  const std::size_t outputsOfGroup = w.n / static_cast<std::size_t>(convolution.groups);
  for (std::size_t n = 0; n < y.n; ++n) {
    for (std::size_t out = 0; out < w.n; ++out) {
      for (std::size_t in = 0; in < w.c; ++in) {
        const std::size_t channel = out / outputsOfGroup * w.c + in;
        for (std::size_t tap = 0; tap < w.inner(); ++tap) {
          const std::size_t taps[3] = {tap / (w.s[1] * w.s[2]), tap / w.s[2] % w.s[1], tap % w.s[2]};
          const Row first{(n * x.c + channel) * x.inner(), 0, (out * w.c + in) * w.inner() + tap, (n * y.c + out) * y.inner(), 0};
          forEachRow(x, y, axes, taps, first, act);
        }
      }
    }
  }
}

}  // namespace

std::size_t Tensor::elements() const {
  std::size_t count = 1;
  for (const int size : shape) count *= static_cast<std::size_t>(size);
  return count;
}

std::vector<int> outputShape(const Tensor& x, const Tensor& w, const Convolution& convolution) {
  std::vector<int> shape{x.shape[0], w.shape[0]};
  for (std::size_t axis = 0; axis < convolution.padding.size(); ++axis) {
    const int extent = convolution.dilation[axis] * (w.shape[axis + 2] - 1) + 1;
    shape.push_back((x.shape[axis + 2] + 2 * convolution.padding[axis] - extent) / convolution.stride[axis] + 1);
  }
  return shape;
}

void convolve(Pass pass, const Operands& of, const Convolution& convolution) {
  const bool rounds = convolution.mathType == 0 && !fake_gpu::isTf32Off();
  const auto values = [rounds](const Tensor& tensor, const std::uint8_t* data) { return read(tensor, data, rounds); };
  if (pass == Pass::Forward) {
    const std::vector<float> x = values(of.x, of.xData), w = values(of.w, of.wData);
    std::vector<float> y(of.y.elements());
    forEachProduct(of, convolution, [&](const Row& row) {
      const float factor = w[row.w];
      for (std::size_t i = 0; i < row.count; ++i) y[row.y + i] += x[row.x + i * row.xStride] * factor;
    });
    return write(of.y, of.yData, y);
  }
  const std::vector<float> y = values(of.y, of.yData);
  if (pass == Pass::InputGradient) {
    const std::vector<float> w = values(of.w, of.wData);
    std::vector<float> x(of.x.elements());
    forEachProduct(of, convolution, [&](const Row& row) {
      const float factor = w[row.w];
      for (std::size_t i = 0; i < row.count; ++i) x[row.x + i * row.xStride] += y[row.y + i] * factor;
    });
    return write(of.x, of.xData, x);
  }
  const std::vector<float> x = values(of.x, of.xData);
  std::vector<float> w(of.w.elements());
  forEachProduct(of, convolution, [&](const Row& row) {
    float sum = w[row.w];
    for (std::size_t i = 0; i < row.count; ++i) sum += y[row.y + i] * x[row.x + i * row.xStride];
    w[row.w] = sum;
  });
  write(of.w, of.wData, w);
}

}  // namespace fake_cudnn
