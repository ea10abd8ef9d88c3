// A fake cuBLASLt (libcublasLt.so): see fake_gpu.h. It multiplies naively, adding in float32 in the order of k. Signatures and
// numbers are those of cublasLt.h.
#include <cmath>
#include <map>
#include <vector>

#include "driver_functions.h"
#include "fake_gpu.h"
#include "float_formats.h"

namespace {

enum Status { Success = 0, InvalidValue = 7, ExecutionFailed = 13, NotSupported = 15 };
enum Type { Float32 = 0, BFloat16 = 14 };
enum Compute { ComputeFloat32 = 68, ComputeTf32 = 77 };
enum Epilogue : unsigned { Default = 1, Relu = 2, Bias = 4, Gelu = 32 };

// Every algorithm of the fake needs some workspace, so that a missing one is found.
constexpr std::size_t kWorkspaceBytes = 1024;

struct Desc {
  int compute;
  std::int32_t transA = 0;
  std::int32_t transB = 0;
  std::uint32_t epilogue = Default;
  const void* bias = nullptr;
};

struct Layout {
  int type;
  std::uint64_t rows;
  std::uint64_t columns;
  std::int64_t leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;

  bool isBfloat16() const { return type == BFloat16; }
  std::size_t elementBytes() const { return isBfloat16() ? 2 : 4; }
  // Of all matrices, from the first element.
  std::size_t bytes() const {
    const std::uint64_t last = static_cast<std::uint64_t>(batch - 1) * static_cast<std::uint64_t>(stride) +
                               (columns - 1) * static_cast<std::uint64_t>(leading) + rows;
    return last * elementBytes();
  }
};

struct Preference {
  std::uint64_t maxWorkspace = 0;
  std::uint32_t alignment[4] = {256, 256, 256, 256};
};

struct Algorithm {
  std::uint64_t data[8];
};

struct Heuristic {
  Algorithm algorithm;
  std::size_t workspaceBytes;
  int state;
  float waves;
  int reserved[4];
};

struct Operands {
  const Layout *a, *b, *c, *d;
};

// What an algorithm was chosen for: it can be used for nothing else.
std::uint64_t signatureOf(const Desc& desc, const Operands& of) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3u; };
  add(static_cast<std::uint64_t>(desc.compute)), add(static_cast<std::uint64_t>(desc.transA)), add(static_cast<std::uint64_t>(desc.transB));
  add(desc.epilogue);
  for (const Layout* const one : {of.a, of.b, of.c, of.d}) {
    add(static_cast<std::uint64_t>(one->type)), add(one->rows), add(one->columns), add(static_cast<std::uint64_t>(one->leading));
    add(static_cast<std::uint64_t>(one->batch)), add(static_cast<std::uint64_t>(one->stride));
  }
  return hash;
}

bool isConsistent(const Desc& desc, const Operands& of) {
  const std::uint64_t m = desc.transA ? of.a->columns : of.a->rows;
  const std::uint64_t k = desc.transA ? of.a->rows : of.a->columns;
  const std::uint64_t inner = desc.transB ? of.b->columns : of.b->rows;
  const std::uint64_t n = desc.transB ? of.b->rows : of.b->columns;
  if (k != inner || of.d->rows != m || of.d->columns != n || of.c->rows != m || of.c->columns != n) return false;
  if (of.a->type != of.b->type || of.c->type != of.d->type) return false;
  if (desc.compute == ComputeTf32 && of.a->type != Float32) return false;
  if (of.a->type == Float32 && of.d->type != Float32) return false;
  for (const Layout* const one : {of.a, of.b, of.c, of.d}) {
    if (one->leading < static_cast<std::int64_t>(one->rows) || one->batch != of.d->batch || one->stride < 0) return false;
  }
  const std::uint32_t known = Default | Relu | Bias | Gelu;
  return (desc.epilogue & ~known) == 0 && !((desc.epilogue & Relu) && (desc.epilogue & Gelu));
}

// The elements of a matrix as float32, [rows, columns] by column, transposed on request.
std::vector<float> read(const std::uint8_t* data, const Layout& layout, std::int32_t batch, bool transposes, bool rounds) {
  std::vector<float> values(layout.rows * layout.columns);
  for (std::uint64_t column = 0; column < layout.columns; ++column) {
    for (std::uint64_t row = 0; row < layout.rows; ++row) {
      const auto index = static_cast<std::size_t>(batch * layout.stride) + column * static_cast<std::size_t>(layout.leading) + row;
      const float value = fake_gpu::elementOf(data, index, layout.isBfloat16());
      values[transposes ? row * layout.columns + column : column * layout.rows + row] = rounds ? fake_gpu::roundedToTf32(value) : value;
    }
  }
  return values;
}

float activated(float value, std::uint32_t epilogue) {
  if (epilogue & Relu) return value > 0 || value != value ? value : 0;
  if (epilogue & Gelu) return 0.5f * value * (1 + std::tanh(0.7978845608f * (value + 0.044715f * value * value * value)));
  return value;
}

struct Multiplication {
  Desc desc;
  Layout a, b, c, d;
  const std::uint8_t *aData, *bData, *cData;
  std::uint8_t* dData;
  const std::uint8_t* bias;
  float alpha, beta;
};

void multiply(const Multiplication& one) {
  const bool rounds = one.desc.compute == ComputeTf32 && !fake_gpu::isTf32Off();
  const std::size_t m = one.d.rows;
  const std::size_t n = one.d.columns;
  for (std::int32_t batch = 0; batch < one.d.batch; ++batch) {
    // a by columns of m elements, b by columns of k elements.
    const std::vector<float> a = read(one.aData, one.a, batch, one.desc.transA != 0, rounds);
    const std::vector<float> b = read(one.bData, one.b, batch, one.desc.transB != 0, rounds);
    const std::size_t k = a.size() / m;
    std::vector<float> sums(m);
    for (std::size_t column = 0; column < n; ++column) {
      std::fill(sums.begin(), sums.end(), 0.0f);
      for (std::size_t inner = 0; inner < k; ++inner) {
        const float factor = b[column * k + inner];
        const float* const from = &a[inner * m];
        for (std::size_t row = 0; row < m; ++row) sums[row] += from[row] * factor;
      }
      for (std::size_t row = 0; row < m; ++row) {
        const auto at = [&](const Layout& layout) {
          return static_cast<std::size_t>(batch * layout.stride) + column * static_cast<std::size_t>(layout.leading) + row;
        };
        float value = one.alpha * sums[row];
        if (one.beta != 0) value += one.beta * fake_gpu::elementOf(one.cData, at(one.c), one.c.isBfloat16());
        if (one.desc.epilogue & Bias) value += fake_gpu::elementOf(one.bias, row, one.d.isBfloat16());
        fake_gpu::setElement(one.dData, at(one.d), one.d.isBfloat16(), activated(value, one.desc.epilogue));
      }
    }
  }
}

template <typename Value>
int set(Value& place, const void* value, std::size_t bytes) {
  if (bytes != sizeof(Value)) return InvalidValue;
  std::memcpy(&place, value, bytes);
  return Success;
}

}  // namespace

#define FAKE_CUBLASLT_CALL(name)                                                   \
  if (const std::string what = fake_gpu::faultOf(name); fake_gpu::isNumber(what)) { \
    return std::atoi(what.c_str());                                                \
  }

FAKE_GPU_EXPORT std::size_t cublasLtGetVersion() { return 130000; }

FAKE_GPU_EXPORT const char* cublasLtGetStatusString(int status) {
  switch (status) {
    case Success: return "CUBLAS_STATUS_SUCCESS";
    case InvalidValue: return "an unsupported value or parameter was passed to the function";
    case ExecutionFailed: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case NotSupported: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "an error injected by the fake cuBLASLt";
  }
}

FAKE_GPU_EXPORT int cublasLtCreate(void** handle) {
  FAKE_CUBLASLT_CALL("cublasLtCreate");
  static int one;
  *handle = &one;
  return Success;
}

FAKE_GPU_EXPORT int cublasLtMatmulDescCreate(Desc** desc, int compute, int scale) {
  if (scale != Float32 || (compute != ComputeFloat32 && compute != ComputeTf32)) return NotSupported;
  *desc = new Desc{compute};
  return Success;
}

FAKE_GPU_EXPORT int cublasLtMatmulDescDestroy(Desc* desc) {
  delete desc;
  return Success;
}

FAKE_GPU_EXPORT int cublasLtMatmulDescSetAttribute(Desc* desc, int attribute, const void* value, std::size_t bytes) {
  switch (attribute) {
    case 3: return set(desc->transA, value, bytes);
    case 4: return set(desc->transB, value, bytes);
    case 7: return set(desc->epilogue, value, bytes);
    case 8: return set(desc->bias, value, bytes);
    default: return NotSupported;
  }
}

FAKE_GPU_EXPORT int cublasLtMatrixLayoutCreate(Layout** layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
  if (type != Float32 && type != BFloat16) return NotSupported;
  *layout = new Layout{type, rows, columns, leading};
  return Success;
}

FAKE_GPU_EXPORT int cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete layout;
  return Success;
}

FAKE_GPU_EXPORT int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value, std::size_t bytes) {
  switch (attribute) {
    case 5: return set(layout->batch, value, bytes);
    case 6: return set(layout->stride, value, bytes);
    default: return NotSupported;
  }
}

FAKE_GPU_EXPORT int cublasLtMatmulPreferenceCreate(Preference** preference) {
  *preference = new Preference;
  return Success;
}

FAKE_GPU_EXPORT int cublasLtMatmulPreferenceDestroy(Preference* preference) {
  delete preference;
  return Success;
}

FAKE_GPU_EXPORT int cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value, std::size_t bytes) {
  if (attribute == 1) return set(preference->maxWorkspace, value, bytes);
  if (attribute >= 5 && attribute <= 8) return set(preference->alignment[attribute - 5], value, bytes);
  return NotSupported;
}

FAKE_GPU_EXPORT int cublasLtMatmulAlgoGetHeuristic(void*, Desc* desc, Layout* a, Layout* b, Layout* c, Layout* d, Preference* preference,
                                                   int requested, Heuristic* results, int* returned) {
  FAKE_CUBLASLT_CALL("cublasLtMatmulAlgoGetHeuristic");
  const Operands operands{a, b, c, d};
  *returned = 0;
  if (!isConsistent(*desc, operands)) return InvalidValue;
  if (requested < 1 || preference->maxWorkspace < kWorkspaceBytes) return NotSupported;
  Algorithm algorithm{{signatureOf(*desc, operands)}};
  for (int i = 0; i < 4; ++i) algorithm.data[i + 1] = preference->alignment[i];
  results[0] = {algorithm, kWorkspaceBytes, Success, 1, {}};
  *returned = 1;
  return Success;
}

FAKE_GPU_EXPORT int cublasLtMatmul(void*, Desc* desc, const float* alpha, const void* a, Layout* aLayout, const void* b, Layout* bLayout,
                                   const float* beta, const void* c, Layout* cLayout, void* d, Layout* dLayout, const Algorithm* algorithm,
                                   void* workspace, std::size_t workspaceBytes, FakeStream* stream) {
  FAKE_CUBLASLT_CALL("cublasLtMatmul");
  const Operands operands{aLayout, bLayout, cLayout, dLayout};
  if (!isConsistent(*desc, operands)) return InvalidValue;
  if (algorithm->data[0] != signatureOf(*desc, operands)) return NotSupported;
  if (workspaceBytes < kWorkspaceBytes || fake_gpu::hostAddress(workspace, workspaceBytes) == nullptr) return InvalidValue;
  const void* const pointers[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (reinterpret_cast<std::uintptr_t>(pointers[i]) % algorithm->data[i + 1] != 0) return InvalidValue;
  }
  Multiplication one{*desc, *aLayout, *bLayout, *cLayout, *dLayout, nullptr, nullptr, nullptr, nullptr, nullptr, *alpha, *beta};
  one.aData = fake_gpu::hostAddress(a, aLayout->bytes());
  one.bData = fake_gpu::hostAddress(b, bLayout->bytes());
  one.cData = fake_gpu::hostAddress(c, cLayout->bytes());
  one.dData = fake_gpu::hostAddress(d, dLayout->bytes());
  if (desc->epilogue & Bias) one.bias = fake_gpu::hostAddress(desc->bias, dLayout->rows * dLayout->elementBytes());
  const bool hasBias = !(desc->epilogue & Bias) || one.bias != nullptr;
  if (one.aData == nullptr || one.bData == nullptr || one.cData == nullptr || one.dData == nullptr || !hasBias) return InvalidValue;
  // In place only with equal layouts.
  if (c == d && *beta != 0 && cLayout->leading != dLayout->leading) return InvalidValue;
  return fake_gpu::enqueue(stream, [one] { multiply(one); }) == 0 ? Success : ExecutionFailed;
}
