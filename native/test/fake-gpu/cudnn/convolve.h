#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fake_cudnn {

enum class Pass { Forward, InputGradient, WeightGradient };

// Of x, w or y, with the shape [N, C, spatial…] in both formats.
struct Tensor {
  int format = 0;  // 0: NCHW, 1: NHWC
  int dtype = 0;   // 0: float32, 9: bfloat16
  std::vector<int> shape;

  bool isKnown() const { return (format == 0 || format == 1) && (dtype == 0 || dtype == 9); }
  bool isBfloat16() const { return dtype == 9; }
  std::size_t elements() const;
  std::size_t bytes() const { return elements() * (isBfloat16() ? 2 : 4); }
};

struct Convolution {
  std::vector<int> padding;
  std::vector<int> stride;
  std::vector<int> dilation;
  int groups = 1;
  int mathType = 0;  // 0: TF32 is allowed; 1: tensor cores; 3: neither
};

struct Operands {
  Tensor x, w, y;
  std::uint8_t *xData, *wData, *yData;
};

std::vector<int> outputShape(const Tensor& x, const Tensor& w, const Convolution& convolution);

// Writes y, x or w. Adds in float32.
void convolve(Pass pass, const Operands& operands, const Convolution& convolution);

}  // namespace fake_cudnn
