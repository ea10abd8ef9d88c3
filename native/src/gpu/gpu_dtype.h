#pragma once

namespace ringrun {

// The dtypes of products and convolutions, which add in float32.
enum class GpuDType { Float32, BFloat16 };

}  // namespace ringrun
