#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/dynamic_library.h"
#include "gpu/cuda.h"
#include "gpu/device.h"

namespace ringrun {

// cuBLASLt, which multiplies matrices, without its header: types and signatures of docs.nvidia.com/cuda/cublas (read for CUDA
// 13.0); numbers are those of its enums. It opens without a driver; only its handles need one.

using CublasStatus = int;  // cublasStatus_t
struct CublasLtHandleHandle;
struct CublasLtDescHandle;
struct CublasLtLayoutHandle;
struct CublasLtPreferenceHandle;
using CublasLtHandle = CublasLtHandleHandle*;          // cublasLtHandle_t
using CublasLtDesc = CublasLtDescHandle*;              // cublasLtMatmulDesc_t
using CublasLtLayout = CublasLtLayoutHandle*;          // cublasLtMatrixLayout_t
using CublasLtPreference = CublasLtPreferenceHandle*;  // cublasLtMatmulPreference_t

struct CublasLtAlgorithm {  // cublasLtMatmulAlgo_t
  std::uint64_t data[8];
};

struct CublasLtHeuristic {  // cublasLtMatmulHeuristicResult_t
  CublasLtAlgorithm algorithm;
  std::size_t workspaceBytes;
  CublasStatus state;
  float waves;
  int reserved[4];
};

constexpr CublasStatus kCublasSuccess = 0;

// cudaDataType, cublasComputeType_t, cublasOperation_t
constexpr int kCudaFloat32 = 0;
constexpr int kCudaBFloat16 = 14;
constexpr int kCublasComputeFloat32 = 68;
constexpr int kCublasComputeTf32 = 77;  // CUBLAS_COMPUTE_32F_FAST_TF32
constexpr int kCublasTransposed = 1;    // CUBLAS_OP_T

// cublasLtMatmulDescAttributes_t
constexpr int kDescTransA = 3;        // std::int32_t
constexpr int kDescTransB = 4;        // std::int32_t
constexpr int kDescEpilogue = 7;      // std::uint32_t
constexpr int kDescBiasPointer = 8;   // a pointer

// cublasLtEpilogue_t: a sum of these
constexpr std::uint32_t kEpilogueDefault = 1;
constexpr std::uint32_t kEpilogueRelu = 2;
constexpr std::uint32_t kEpilogueBias = 4;
constexpr std::uint32_t kEpilogueGelu = 32;

// cublasLtMatrixLayoutAttribute_t
constexpr int kLayoutBatchCount = 5;   // std::int32_t
constexpr int kLayoutBatchStride = 6;  // std::int64_t, elements

// cublasLtMatmulPreferenceAttributes_t
constexpr int kPreferenceMaxWorkspace = 1;     // std::uint64_t
constexpr int kPreferenceMinAlignmentA = 5;    // std::uint32_t, bytes; then B, C and D
constexpr int kPreferenceMinAlignmentB = 6;
constexpr int kPreferenceMinAlignmentC = 7;
constexpr int kPreferenceMinAlignmentD = 8;

class CublasLt {
 public:
  explicit CublasLt(const std::vector<std::string>& candidates) : library(candidates) {}

  DynamicLibrary library;

  Function<std::size_t()> getVersion{library, "cublasLtGetVersion"};
  Function<const char*(CublasStatus)> getStatusString{library, "cublasLtGetStatusString"};
  Function<CublasStatus(CublasLtHandle*)> create{library, "cublasLtCreate"};
  Function<CublasStatus(CublasLtDesc*, int computeType, int scaleType)> descCreate{library, "cublasLtMatmulDescCreate"};
  Function<CublasStatus(CublasLtDesc)> descDestroy{library, "cublasLtMatmulDescDestroy"};
  Function<CublasStatus(CublasLtDesc, int attribute, const void* value, std::size_t bytes)> descSet{
      library, "cublasLtMatmulDescSetAttribute"};
  Function<CublasStatus(CublasLtLayout*, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading)> layoutCreate{
      library, "cublasLtMatrixLayoutCreate"};
  Function<CublasStatus(CublasLtLayout)> layoutDestroy{library, "cublasLtMatrixLayoutDestroy"};
  Function<CublasStatus(CublasLtLayout, int attribute, const void* value, std::size_t bytes)> layoutSet{
      library, "cublasLtMatrixLayoutSetAttribute"};
  Function<CublasStatus(CublasLtPreference*)> preferenceCreate{library, "cublasLtMatmulPreferenceCreate"};
  Function<CublasStatus(CublasLtPreference)> preferenceDestroy{library, "cublasLtMatmulPreferenceDestroy"};
  Function<CublasStatus(CublasLtPreference, int attribute, const void* value, std::size_t bytes)> preferenceSet{
      library, "cublasLtMatmulPreferenceSetAttribute"};
  Function<CublasStatus(CublasLtHandle, CublasLtDesc, CublasLtLayout a, CublasLtLayout b, CublasLtLayout c, CublasLtLayout d,
                        CublasLtPreference, int requested, CublasLtHeuristic* results, int* returned)>
      getHeuristic{library, "cublasLtMatmulAlgoGetHeuristic"};
  Function<CublasStatus(CublasLtHandle, CublasLtDesc, const void* alpha, const void* a, CublasLtLayout aLayout, const void* b,
                        CublasLtLayout bLayout, const void* beta, const void* c, CublasLtLayout cLayout, void* d,
                        CublasLtLayout dLayout, const CublasLtAlgorithm*, void* workspace, std::size_t workspaceBytes, CuStream)>
      matmul{library, "cublasLtMatmul"};

  // The reason why it cannot be used; empty if it can.
  const std::string& problem() const { return problem_; }

  // "12.4"; empty if unknown.
  std::string version() const;

  // The library of this process. Throws nothing: see problem().
  static const CublasLt& ofProcess();

  // The handle of a GPU, which lives until the process ends. The device must be current. Throws Failure.
  CublasLtHandle handleOf(const Device& device) const;

  // Calls a function. Throws a System failure with its name, `about`, and the status.
  template <typename... Parameters, typename... Arguments>
  void call(const Function<CublasStatus(Parameters...)>& function, const std::string& about, Arguments... arguments) const {
    const CublasStatus status = function(arguments...);
    if (status != kCublasSuccess) throwError(function.name(), about, status);
  }

 private:
  std::string findProblem() const;
  [[noreturn]] void throwError(const char* function, const std::string& about, CublasStatus status) const;

  std::string problem_ = findProblem();
};

}  // namespace ringrun
