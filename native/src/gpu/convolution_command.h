#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/command.h"
#include "gpu/device.h"
#include "gpu/gpu_dtype.h"

namespace ringrun {

enum class ConvolutionPass { Forward, InputGradient, WeightGradient };

// A tensor of a convolution, with the shape [N, C, spatial…] whatever its order in memory.
struct ConvolutionTensor {
  GpuAddress at;
  std::vector<int> shape;
};

// output = input * weight, or the gradient of input or weight from the other two. Two or three spatial axes.
struct Convolution {
  ConvolutionPass pass = ConvolutionPass::Forward;
  GpuDType dtype = GpuDType::Float32;
  bool allowsTf32 = false;
  bool channelsLast = false;
  bool triesAlgorithms = false;
  ConvolutionTensor input;
  ConvolutionTensor weight;
  ConvolutionTensor output;
  std::vector<int> padding;
  std::vector<int> stride;
  std::vector<int> dilation;
  int groups = 1;
};

// Convolves by cuDNN, with the first deterministic algorithm that its heuristic names for the shapes, or the fastest one that it
// has found by trying.
class ConvolutionCommand : public GpuCommand {
 public:
  // The device must be current. Throws Failure if shapes do not fit, or cuDNN cannot be used or has no such algorithm.
  ConvolutionCommand(std::string name, const Device& device, const Convolution& convolution);
  ~ConvolutionCommand() override;

  std::size_t workspaceBytes() const override;
  void enqueue(const GpuPlaces& places, const Stream& stream) override;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace ringrun
