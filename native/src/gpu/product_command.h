#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gpu/command.h"
#include "gpu/device.h"
#include "gpu/gpu_dtype.h"

namespace ringrun {

// A matrix in row-major order. Strides in elements.
struct ProductMatrix {
  GpuAddress at;
  bool isTransposed = false;  // in memory
  std::int64_t rowStride = 0;
  std::int64_t batchStride = 0;
};

enum class ProductActivation { None, Relu, Gelu };

// result = activation(alpha · left · right + start + bias): left [m, k], right [k, n], start and result [m, n], bias [n].
struct Product {
  GpuDType dtype = GpuDType::Float32;        // of left and right
  GpuDType resultDtype = GpuDType::Float32;  // of start, bias and result
  bool allowsTf32 = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int32_t batch = 1;
  ProductMatrix left;
  ProductMatrix right;
  ProductMatrix result;
  std::optional<ProductMatrix> start;
  std::optional<GpuAddress> bias;
  ProductActivation activation = ProductActivation::None;
  float alpha = 1;
};

// Multiplies matrices by cuBLASLt, with the algorithm that its heuristic puts first for the sizes. Addresses do not count,
// except that they are multiples of 16 bytes or not: so results do not depend on where a buffer lies.
class ProductCommand : public GpuCommand {
 public:
  // The device must be current. Throws Failure if cuBLASLt cannot be used, or has no algorithm.
  ProductCommand(std::string name, const Device& device, const Product& product);
  ~ProductCommand() override;

  std::size_t workspaceBytes() const override;
  void enqueue(const GpuPlaces& places, const Stream& stream) override;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace ringrun
