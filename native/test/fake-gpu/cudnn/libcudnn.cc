// A fake cuDNN (libcudnn.so.9): see fake_gpu.h. It convolves naively (convolve.h). Signatures and numbers are those of cudnn.h.
#include "cudnn/convolve.h"

#include "driver_functions.h"
#include "fake_gpu.h"

namespace {

using fake_cudnn::Convolution;
using fake_cudnn::Tensor;

enum Status { Success = 0, BadParam = 2000, NotSupported = 3000, ExecutionFailed = 5000 };
enum Math { DefaultMath = 0, TensorMath = 1, FmaMath = 3 };

// Every algorithm of the fake needs some workspace, so that a missing one is found.
constexpr std::size_t kWorkspaceBytes = 2048;

// Numbers of deterministic algorithms: IMPLICIT_PRECOMP_GEMM, and ALGO_1 of both gradients.
constexpr int kDeterministicAlgorithm = 1;

struct Handle {
  FakeStream* stream = nullptr;
};

struct Algorithm {
  int algorithm;
  int status;
  float milliseconds;
  std::size_t workspaceBytes;
  int determinism;
  int mathType;
  int reserved[3];
};

// The first is not deterministic, and so may not be taken. With tensor cores for bfloat16, the last one is without them.
int listAlgorithms(const Tensor& x, const Convolution& convolution, int requested, int* returned, Algorithm* results) {
  if (requested < 3) return BadParam;
  results[0] = {0, Success, 1, 0, 0, convolution.mathType, {}};
  results[1] = {kDeterministicAlgorithm, Success, 2, kWorkspaceBytes, 1, convolution.mathType, {}};
  results[2] = {kDeterministicAlgorithm, Success, 9, kWorkspaceBytes, 1, x.isBfloat16() ? DefaultMath : FmaMath, {}};
  *returned = 3;
  return Success;
}

bool fits(const Tensor& x, const Tensor& w, const Convolution& convolution, const Tensor& y) {
  if (x.dtype != w.dtype || x.dtype != y.dtype || x.format != w.format || x.format != y.format) return false;
  return y.shape == fake_cudnn::outputShape(x, w, convolution) && x.shape[1] == w.shape[1] * convolution.groups;
}

std::uint8_t* memoryOf(const void* data, const Tensor& tensor) { return fake_gpu::hostAddress(data, tensor.bytes()); }

struct Call {
  Handle* handle;
  int algorithm;
  void* workspace;
  std::size_t workspaceBytes;
  float alpha, beta;
};

// `result`: the operand that is written.
int carryOut(const Call& call, fake_cudnn::Pass pass, const Tensor& x, const void* xData, const Tensor& w, const void* wData,
             const Convolution& convolution, const Tensor& y, const void* yData) {
  if (!fits(x, w, convolution, y)) return BadParam;
  if (call.algorithm != kDeterministicAlgorithm || call.alpha != 1 || call.beta != 0) return NotSupported;
  const bool hasWorkspace = call.workspaceBytes >= kWorkspaceBytes && fake_gpu::hostAddress(call.workspace, call.workspaceBytes) != nullptr;
  const fake_cudnn::Operands operands{x, w, y, memoryOf(xData, x), memoryOf(wData, w), memoryOf(yData, y)};
  if (!hasWorkspace || operands.xData == nullptr || operands.wData == nullptr || operands.yData == nullptr) return BadParam;
  const int error = fake_gpu::enqueue(call.handle->stream, [pass, operands, convolution] { fake_cudnn::convolve(pass, operands, convolution); });
  return error == 0 ? Success : ExecutionFailed;
}

}  // namespace

#define FAKE_CUDNN_CALL(name)                                                      \
  if (const std::string what = fake_gpu::faultOf(name); fake_gpu::isNumber(what)) { \
    return std::atoi(what.c_str());                                                \
  }

FAKE_GPU_EXPORT std::size_t cudnnGetVersion() { return 90000; }

FAKE_GPU_EXPORT const char* cudnnGetErrorString(int status) {
  switch (status) {
    case Success: return "CUDNN_STATUS_SUCCESS";
    case BadParam: return "CUDNN_STATUS_BAD_PARAM";
    case NotSupported: return "CUDNN_STATUS_NOT_SUPPORTED";
    case ExecutionFailed: return "CUDNN_STATUS_EXECUTION_FAILED";
    default: return "an error injected by the fake cuDNN";
  }
}

FAKE_GPU_EXPORT int cudnnCreate(Handle** handle) {
  FAKE_CUDNN_CALL("cudnnCreate");
  *handle = new Handle;
  return Success;
}

FAKE_GPU_EXPORT int cudnnDestroy(Handle* handle) {
  delete handle;
  return Success;
}

FAKE_GPU_EXPORT int cudnnSetStream(Handle* handle, FakeStream* stream) {
  handle->stream = stream;
  return Success;
}

FAKE_GPU_EXPORT int cudnnCreateTensorDescriptor(Tensor** tensor) {
  *tensor = new Tensor;
  return Success;
}

FAKE_GPU_EXPORT int cudnnDestroyTensorDescriptor(Tensor* tensor) {
  delete tensor;
  return Success;
}

FAKE_GPU_EXPORT int cudnnSetTensorNdDescriptorEx(Tensor* tensor, int format, int dtype, int axes, const int* shape) {
  if (axes < 4 || axes > 5) return NotSupported;
  *tensor = {format, dtype, std::vector<int>(shape, shape + axes)};
  return tensor->isKnown() ? Success : NotSupported;
}

FAKE_GPU_EXPORT int cudnnCreateFilterDescriptor(Tensor** filter) { return cudnnCreateTensorDescriptor(filter); }

FAKE_GPU_EXPORT int cudnnDestroyFilterDescriptor(Tensor* filter) { return cudnnDestroyTensorDescriptor(filter); }

FAKE_GPU_EXPORT int cudnnSetFilterNdDescriptor(Tensor* filter, int dtype, int format, int axes, const int* shape) {
  return cudnnSetTensorNdDescriptorEx(filter, format, dtype, axes, shape);
}

FAKE_GPU_EXPORT int cudnnCreateConvolutionDescriptor(Convolution** convolution) {
  *convolution = new Convolution;
  return Success;
}

FAKE_GPU_EXPORT int cudnnDestroyConvolutionDescriptor(Convolution* convolution) {
  delete convolution;
  return Success;
}

FAKE_GPU_EXPORT int cudnnSetConvolutionNdDescriptor(Convolution* convolution, int axes, const int* padding, const int* stride,
                                                    const int* dilation, int mode, int computeType) {
  if (mode != 1 || computeType != 0) return NotSupported;
  convolution->padding.assign(padding, padding + axes);
  convolution->stride.assign(stride, stride + axes);
  convolution->dilation.assign(dilation, dilation + axes);
  return Success;
}

FAKE_GPU_EXPORT int cudnnSetConvolutionGroupCount(Convolution* convolution, int groups) {
  convolution->groups = groups;
  return Success;
}

FAKE_GPU_EXPORT int cudnnSetConvolutionMathType(Convolution* convolution, int mathType) {
  if (mathType != DefaultMath && mathType != TensorMath && mathType != FmaMath) return NotSupported;
  fake_gpu::log(("cudnnSetConvolutionMathType " + std::to_string(mathType)).c_str());
  convolution->mathType = mathType;
  return Success;
}

FAKE_GPU_EXPORT int cudnnGetConvolutionForwardAlgorithm_v7(Handle*, Tensor* x, Tensor* w, Convolution* convolution, Tensor* y, int requested,
                                                           int* returned, Algorithm* results) {
  FAKE_CUDNN_CALL("cudnnGetConvolutionForwardAlgorithm_v7");
  return fits(*x, *w, *convolution, *y) ? listAlgorithms(*x, *convolution, requested, returned, results) : BadParam;
}

FAKE_GPU_EXPORT int cudnnFindConvolutionForwardAlgorithm(Handle*, Tensor* x, Tensor* w, Convolution* convolution, Tensor* y, int requested,
                                                           int* returned, Algorithm* results) {
  FAKE_CUDNN_CALL("cudnnFindConvolutionForwardAlgorithm");
  return fits(*x, *w, *convolution, *y) ? listAlgorithms(*x, *convolution, requested, returned, results) : BadParam;
}

FAKE_GPU_EXPORT int cudnnGetConvolutionBackwardDataAlgorithm_v7(Handle*, Tensor* w, Tensor* dy, Convolution* convolution, Tensor* dx,
                                                                int requested, int* returned, Algorithm* results) {
  FAKE_CUDNN_CALL("cudnnGetConvolutionBackwardDataAlgorithm_v7");
  return fits(*dx, *w, *convolution, *dy) ? listAlgorithms(*dx, *convolution, requested, returned, results) : BadParam;
}

FAKE_GPU_EXPORT int cudnnFindConvolutionBackwardDataAlgorithm(Handle*, Tensor* w, Tensor* dy, Convolution* convolution, Tensor* dx,
                                                                int requested, int* returned, Algorithm* results) {
  FAKE_CUDNN_CALL("cudnnFindConvolutionBackwardDataAlgorithm");
  return fits(*dx, *w, *convolution, *dy) ? listAlgorithms(*dx, *convolution, requested, returned, results) : BadParam;
}

FAKE_GPU_EXPORT int cudnnGetConvolutionBackwardFilterAlgorithm_v7(Handle*, Tensor* x, Tensor* dy, Convolution* convolution, Tensor* dw,
                                                                  int requested, int* returned, Algorithm* results) {
  FAKE_CUDNN_CALL("cudnnGetConvolutionBackwardFilterAlgorithm_v7");
  return fits(*x, *dw, *convolution, *dy) ? listAlgorithms(*x, *convolution, requested, returned, results) : BadParam;
}

FAKE_GPU_EXPORT int cudnnFindConvolutionBackwardFilterAlgorithm(Handle*, Tensor* x, Tensor* dy, Convolution* convolution, Tensor* dw,
                                                                  int requested, int* returned, Algorithm* results) {
  FAKE_CUDNN_CALL("cudnnFindConvolutionBackwardFilterAlgorithm");
  return fits(*x, *dw, *convolution, *dy) ? listAlgorithms(*x, *convolution, requested, returned, results) : BadParam;
}

FAKE_GPU_EXPORT int cudnnConvolutionForward(Handle* handle, const float* alpha, Tensor* x, const void* xData, Tensor* w, const void* wData,
                                            Convolution* convolution, int algorithm, void* workspace, std::size_t workspaceBytes,
                                            const float* beta, Tensor* y, void* yData) {
  FAKE_CUDNN_CALL("cudnnConvolutionForward");
  const Call call{handle, algorithm, workspace, workspaceBytes, *alpha, *beta};
  return carryOut(call, fake_cudnn::Pass::Forward, *x, xData, *w, wData, *convolution, *y, yData);
}

FAKE_GPU_EXPORT int cudnnConvolutionBackwardData(Handle* handle, const float* alpha, Tensor* w, const void* wData, Tensor* dy,
                                                 const void* dyData, Convolution* convolution, int algorithm, void* workspace,
                                                 std::size_t workspaceBytes, const float* beta, Tensor* dx, void* dxData) {
  FAKE_CUDNN_CALL("cudnnConvolutionBackwardData");
  const Call call{handle, algorithm, workspace, workspaceBytes, *alpha, *beta};
  return carryOut(call, fake_cudnn::Pass::InputGradient, *dx, dxData, *w, wData, *convolution, *dy, dyData);
}

FAKE_GPU_EXPORT int cudnnConvolutionBackwardFilter(Handle* handle, const float* alpha, Tensor* x, const void* xData, Tensor* dy,
                                                   const void* dyData, Convolution* convolution, int algorithm, void* workspace,
                                                   std::size_t workspaceBytes, const float* beta, Tensor* dw, void* dwData) {
  FAKE_CUDNN_CALL("cudnnConvolutionBackwardFilter");
  const Call call{handle, algorithm, workspace, workspaceBytes, *alpha, *beta};
  return carryOut(call, fake_cudnn::Pass::WeightGradient, *x, xData, *dw, dwData, *convolution, *dy, dyData);
}
