#include "gpu/product_command.h"

#include <algorithm>
#include <utility>

#include "gpu/cublaslt.h"

namespace ringrun {
namespace {

// As much as cuBLAS itself takes on the GPUs of compute capability 9.0.
constexpr std::uint64_t kMaxWorkspaceBytes = 32 << 20;

// The alignment that GPU memory has at least where a product may use it (gpu.ts), if its address is a multiple of it.
constexpr std::size_t kAlignment = 16;

int cudaTypeOf(GpuDType dtype) { return dtype == GpuDType::Float32 ? kCudaFloat32 : kCudaBFloat16; }

std::string describe(const Product& product) {
  return std::to_string(product.m) + "×" + std::to_string(product.k) + " times " + std::to_string(product.k) + "×" +
         std::to_string(product.n) + (product.batch > 1 ? ", batch of " + std::to_string(product.batch) : "");
}

// The largest power of two, up to kAlignment, that divides the address.
std::uint32_t alignmentOf(const GpuAddress& address) {
  std::size_t alignment = kAlignment;
  while (address.offset % alignment != 0) alignment /= 2;
  return static_cast<std::uint32_t>(alignment);
}

}  // namespace

// Not in an anonymous namespace, because ProductCommand::Plan has members of these classes.
namespace product {

struct Layout {
  CublasLtLayout handle = nullptr;
  Layout() = default;
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() {
    if (handle != nullptr) CublasLt::ofProcess().layoutDestroy(handle);
  }
};

struct Preference {
  CublasLtPreference handle = nullptr;
  ~Preference() {
    if (handle != nullptr) CublasLt::ofProcess().preferenceDestroy(handle);
  }
};

}  // namespace product

// The library has column-major matrices: it computes resultᵀ = rightᵀ · leftᵀ, so its A is `right`.
struct ProductCommand::Plan {
  const CublasLt& library = CublasLt::ofProcess();
  Product product;
  std::string about;
  CublasLtHandle handle = nullptr;
  CublasLtDesc desc = nullptr;
  product::Layout a, b, c, d;
  CublasLtHeuristic heuristic{};

  explicit Plan(const Product& given) : product(given), about(describe(given)) {}

  ~Plan() {
    if (desc != nullptr) library.descDestroy(desc);
  }

  template <typename Value>
  void setDesc(int attribute, Value value) {
    library.call(library.descSet, about, desc, attribute, static_cast<const void*>(&value), sizeof value);
  }

  void createDesc() {
    const bool isTf32 = product.dtype == GpuDType::Float32 && product.allowsTf32;
    library.call(library.descCreate, about, &desc, isTf32 ? kCublasComputeTf32 : kCublasComputeFloat32, kCudaFloat32);
    if (product.right.isTransposed) setDesc<std::int32_t>(kDescTransA, kCublasTransposed);
    if (product.left.isTransposed) setDesc<std::int32_t>(kDescTransB, kCublasTransposed);
    std::uint32_t epilogue = product.bias ? kEpilogueBias : 0;
    if (product.activation == ProductActivation::Relu) epilogue |= kEpilogueRelu;
    if (product.activation == ProductActivation::Gelu) epilogue |= kEpilogueGelu;
    setDesc<std::uint32_t>(kDescEpilogue, epilogue == 0 ? kEpilogueDefault : epilogue);
    // The heuristic reads the alignment of the pointer.
    if (product.bias) setDesc<void*>(kDescBiasPointer, reinterpret_cast<void*>(std::uintptr_t{alignmentOf(*product.bias)}));
  }

  // `rows` and `columns` of the matrix that is multiplied.
  void createLayout(product::Layout& layout, const ProductMatrix& matrix, std::int64_t rows, std::int64_t columns, GpuDType dtype) {
    const std::int64_t inRow = matrix.isTransposed ? rows : columns;
    const std::int64_t rowsInMemory = matrix.isTransposed ? columns : rows;
    library.call(library.layoutCreate, about, &layout.handle, cudaTypeOf(dtype), static_cast<std::uint64_t>(inRow),
                 static_cast<std::uint64_t>(rowsInMemory), matrix.rowStride);
    if (product.batch == 1) return;
    library.call(library.layoutSet, about, layout.handle, kLayoutBatchCount, static_cast<const void*>(&product.batch), sizeof product.batch);
    library.call(library.layoutSet, about, layout.handle, kLayoutBatchStride, static_cast<const void*>(&matrix.batchStride),
                 sizeof matrix.batchStride);
  }

  void chooseAlgorithm() {
    product::Preference preference;
    library.call(library.preferenceCreate, about, &preference.handle);
    const auto set = [&](int attribute, auto value) {
      library.call(library.preferenceSet, about, preference.handle, attribute, static_cast<const void*>(&value), sizeof value);
    };
    set(kPreferenceMaxWorkspace, kMaxWorkspaceBytes);
    set(kPreferenceMinAlignmentA, alignmentOf(product.right.at));
    set(kPreferenceMinAlignmentB, alignmentOf(product.left.at));
    set(kPreferenceMinAlignmentC, alignmentOf(product.start ? product.start->at : product.result.at));
    set(kPreferenceMinAlignmentD, alignmentOf(product.result.at));
    int found = 0;
    library.call(library.getHeuristic, about, handle, desc, a.handle, b.handle, c.handle, d.handle, preference.handle, 1, &heuristic, &found);
    if (found == 0 || heuristic.state != kCublasSuccess) {
      throw Failure(FailureCode::System, {}, "cuBLASLt has no algorithm for " + about);
    }
  }
};

ProductCommand::ProductCommand(std::string name, const Device& device, const Product& product)
    : GpuCommand(std::move(name)), plan_(std::make_unique<Plan>(product)) {
  Plan& plan = *plan_;
  if (std::min({product.m, product.n, product.k, std::int64_t{product.batch}}) < 1) {
    throw Failure(FailureCode::System, {}, "product: expected sizes of at least 1, got " + plan.about);
  }
  plan.handle = plan.library.handleOf(device);
  plan.createDesc();
  plan.createLayout(plan.a, product.right, product.k, product.n, product.dtype);
  plan.createLayout(plan.b, product.left, product.m, product.k, product.dtype);
  plan.createLayout(plan.c, product.start ? *product.start : product.result, product.m, product.n, product.resultDtype);
  plan.createLayout(plan.d, product.result, product.m, product.n, product.resultDtype);
  plan.chooseAlgorithm();
}

ProductCommand::~ProductCommand() = default;

std::size_t ProductCommand::workspaceBytes() const { return plan_->heuristic.workspaceBytes; }

void ProductCommand::enqueue(const GpuPlaces& places, const Stream& stream) {
  Plan& plan = *plan_;
  const Product& product = plan.product;
  if (product.bias) plan.setDesc<void*>(kDescBiasPointer, places.at(*product.bias));
  const float beta = product.start ? 1 : 0;
  void* const result = places.at(product.result.at);
  const void* const start = product.start ? places.at(product.start->at) : result;
  plan.library.call(plan.library.matmul, plan.about, plan.handle, plan.desc, static_cast<const void*>(&product.alpha),
                    static_cast<const void*>(places.at(product.right.at)), plan.a.handle, static_cast<const void*>(places.at(product.left.at)),
                    plan.b.handle, static_cast<const void*>(&beta), start, plan.c.handle, result, plan.d.handle,
                    static_cast<const CublasLtAlgorithm*>(&plan.heuristic.algorithm), static_cast<void*>(places.workspace),
                    plan.heuristic.workspaceBytes, stream.handle());
}

}  // namespace ringrun
