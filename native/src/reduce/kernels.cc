#include "reduce/kernels.h"

#include "reduce/float32.h"

namespace ringrun {
namespace {

// 128 bits are in the base line of x86-64 (SSE2) and of arm64 (NEON).
void sum128(const Reduction& reduction) { sumFloat32<16>(reduction); }

void sumPlain(const Reduction& reduction) { sumFloat32<sizeof(float)>(reduction); }

#if defined(__x86_64__)

__attribute__((target("avx2"))) void sumAvx2(const Reduction& reduction) { sumFloat32<32>(reduction); }

__attribute__((target("avx512f"))) void sumAvx512(const Reduction& reduction) { sumFloat32<64>(reduction); }

std::vector<NamedKernel> kernelsOfThisProcessor() {
  std::vector<NamedKernel> kernels;
  if (__builtin_cpu_supports("avx512f")) kernels.push_back({"avx512", sumAvx512});
  if (__builtin_cpu_supports("avx2")) kernels.push_back({"avx2", sumAvx2});
  kernels.push_back({"sse2", sum128});
  kernels.push_back({"plain", sumPlain});
  return kernels;
}

#elif defined(__aarch64__)

std::vector<NamedKernel> kernelsOfThisProcessor() { return {{"neon", sum128}, {"plain", sumPlain}}; }

#else

std::vector<NamedKernel> kernelsOfThisProcessor() { return {{"plain", sumPlain}}; }

#endif

}  // namespace

const std::vector<NamedKernel>& float32Kernels() {
  static const std::vector<NamedKernel> kernels = kernelsOfThisProcessor();
  return kernels;
}

void reduce(DType dtype, const Reduction& reduction) {
  switch (dtype) {
    case DType::None: return;
    case DType::Float32: return float32Kernels().front().run(reduction);
  }
}

}  // namespace ringrun
