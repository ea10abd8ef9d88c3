#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/dynamic_library.h"
#include "gpu/cuda.h"

namespace ringrun {

// cuDNN 9, which convolves, without its headers: types and signatures of docs.nvidia.com/deeplearning/cudnn (read for 9.28);
// numbers are those of its enums. Of its two interfaces this is the older one, of calls with descriptors: it chooses an
// algorithm by name and says if it is deterministic, and needs no graph of operations for a single convolution.

using CudnnStatus = int;  // cudnnStatus_t
struct CudnnContext;
struct CudnnTensorStruct;
struct CudnnFilterStruct;
struct CudnnConvolutionStruct;
using CudnnHandle = CudnnContext*;                 // cudnnHandle_t
using CudnnTensor = CudnnTensorStruct*;            // cudnnTensorDescriptor_t
using CudnnFilter = CudnnFilterStruct*;            // cudnnFilterDescriptor_t
using CudnnConvolution = CudnnConvolutionStruct*;  // cudnnConvolutionDescriptor_t

struct CudnnAlgorithm {  // cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t
  int algorithm;
  CudnnStatus status;
  float milliseconds;
  std::size_t workspaceBytes;
  int determinism;
  int mathType;
  int reserved[3];
};

constexpr CudnnStatus kCudnnSuccess = 0;
constexpr int kCudnnFloat32 = 0;          // cudnnDataType_t
constexpr int kCudnnBFloat16 = 9;
constexpr int kCudnnNchw = 0;             // cudnnTensorFormat_t
constexpr int kCudnnNhwc = 1;
constexpr int kCudnnCrossCorrelation = 1;  // cudnnConvolutionMode_t
constexpr int kCudnnDefaultMath = 0;      // cudnnMathType_t: for float32, TF32 is allowed
constexpr int kCudnnTensorMath = 1;       // tensor cores, without which bfloat16 convolves many times slower
constexpr int kCudnnFmaMath = 3;          // no TF32
constexpr int kCudnnDeterministic = 1;    // cudnnDeterminism_t

class Cudnn {
 public:
  explicit Cudnn(const std::vector<std::string>& candidates) : library(candidates) {}

  // Functions that list the algorithms of a pass, best first.
  using ListForward = CudnnStatus(CudnnHandle, CudnnTensor x, CudnnFilter w, CudnnConvolution, CudnnTensor y, int requested, int* returned,
                                  CudnnAlgorithm*);
  using ListInputGradient = CudnnStatus(CudnnHandle, CudnnFilter w, CudnnTensor dy, CudnnConvolution, CudnnTensor dx, int requested, int* returned,
                                        CudnnAlgorithm*);
  using ListWeightGradient = CudnnStatus(CudnnHandle, CudnnTensor x, CudnnTensor dy, CudnnConvolution, CudnnFilter dw, int requested, int* returned,
                                         CudnnAlgorithm*);

  DynamicLibrary library;

  Function<std::size_t()> getVersion{library, "cudnnGetVersion"};
  Function<const char*(CudnnStatus)> getErrorString{library, "cudnnGetErrorString"};
  Function<CudnnStatus(CudnnHandle*)> create{library, "cudnnCreate"};
  Function<CudnnStatus(CudnnHandle)> destroy{library, "cudnnDestroy"};
  Function<CudnnStatus(CudnnHandle, CuStream)> setStream{library, "cudnnSetStream"};

  Function<CudnnStatus(CudnnTensor*)> tensorCreate{library, "cudnnCreateTensorDescriptor"};
  Function<CudnnStatus(CudnnTensor)> tensorDestroy{library, "cudnnDestroyTensorDescriptor"};
  Function<CudnnStatus(CudnnTensor, int format, int dtype, int axes, const int* shape)> tensorSet{
      library, "cudnnSetTensorNdDescriptorEx"};
  Function<CudnnStatus(CudnnFilter*)> filterCreate{library, "cudnnCreateFilterDescriptor"};
  Function<CudnnStatus(CudnnFilter)> filterDestroy{library, "cudnnDestroyFilterDescriptor"};
  Function<CudnnStatus(CudnnFilter, int dtype, int format, int axes, const int* shape)> filterSet{
      library, "cudnnSetFilterNdDescriptor"};
  Function<CudnnStatus(CudnnConvolution*)> convolutionCreate{library, "cudnnCreateConvolutionDescriptor"};
  Function<CudnnStatus(CudnnConvolution)> convolutionDestroy{library, "cudnnDestroyConvolutionDescriptor"};
  Function<CudnnStatus(CudnnConvolution, int axes, const int* padding, const int* stride, const int* dilation, int mode,
                       int computeType)>
      convolutionSet{library, "cudnnSetConvolutionNdDescriptor"};
  Function<CudnnStatus(CudnnConvolution, int groups)> convolutionSetGroups{library, "cudnnSetConvolutionGroupCount"};
  Function<CudnnStatus(CudnnConvolution, int mathType)> convolutionSetMath{library, "cudnnSetConvolutionMathType"};

  Function<ListForward> forwardAlgorithms{library, "cudnnGetConvolutionForwardAlgorithm_v7"};
  Function<ListInputGradient> inputGradientAlgorithms{library, "cudnnGetConvolutionBackwardDataAlgorithm_v7"};
  Function<ListWeightGradient> weightGradientAlgorithms{library, "cudnnGetConvolutionBackwardFilterAlgorithm_v7"};

  // The same, by trying all algorithms on the GPU.
  Function<ListForward> findForward{library, "cudnnFindConvolutionForwardAlgorithm"};
  Function<ListInputGradient> findInputGradient{library, "cudnnFindConvolutionBackwardDataAlgorithm"};
  Function<ListWeightGradient> findWeightGradient{library, "cudnnFindConvolutionBackwardFilterAlgorithm"};

  Function<CudnnStatus(CudnnHandle, const void* alpha, CudnnTensor x, const void* xData, CudnnFilter w, const void* wData,
                       CudnnConvolution, int algorithm, void* workspace, std::size_t workspaceBytes, const void* beta, CudnnTensor y,
                       void* yData)>
      forward{library, "cudnnConvolutionForward"};
  Function<CudnnStatus(CudnnHandle, const void* alpha, CudnnFilter w, const void* wData, CudnnTensor dy, const void* dyData,
                       CudnnConvolution, int algorithm, void* workspace, std::size_t workspaceBytes, const void* beta, CudnnTensor dx,
                       void* dxData)>
      inputGradient{library, "cudnnConvolutionBackwardData"};
  Function<CudnnStatus(CudnnHandle, const void* alpha, CudnnTensor x, const void* xData, CudnnTensor dy, const void* dyData,
                       CudnnConvolution, int algorithm, void* workspace, std::size_t workspaceBytes, const void* beta, CudnnFilter dw,
                       void* dwData)>
      weightGradient{library, "cudnnConvolutionBackwardFilter"};

  // The reason why it cannot be used; empty if it can.
  const std::string& problem() const { return problem_; }

  // "9.28"; empty if unknown.
  std::string version() const;

  static const Cudnn& ofProcess();

  // The handle of the calling thread for the current device, which lives as long as the thread: a handle belongs to one thread at a
  // time. Throws Failure.
  CudnnHandle handleOf(int device) const;

  // Calls a function. Throws a System failure with its name, `about`, and the status.
  template <typename... Parameters, typename... Arguments>
  void call(const Function<CudnnStatus(Parameters...)>& function, const std::string& about, Arguments... arguments) const {
    const CudnnStatus status = function(arguments...);
    if (status != kCudnnSuccess) throwError(function.name(), about, status);
  }

 private:
  std::string findProblem() const;
  [[noreturn]] void throwError(const char* function, const std::string& about, CudnnStatus status) const;

  std::string problem_ = findProblem();
};

}  // namespace ringrun
