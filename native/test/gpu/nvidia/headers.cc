// Compares the declarations of native/src/gpu with NVIDIA's headers, at compile time. Includes what pip's wheels of the CUDA
// runtime, NVRTC, cuBLAS and cuDNN have; HAS_CUBLAS and HAS_CUDNN are set if theirs are there.
#include <cuda.h>
#include <nvrtc.h>
#ifdef HAS_CUBLAS
#include <cublasLt.h>
#endif
#ifdef HAS_CUDNN
#include <cudnn.h>
#endif

#include <cstddef>
#include <cstdio>

#include "gpu/cublaslt.h"
#include "gpu/cuda_compute.h"
#include "gpu/cudnn.h"
#include "gpu/nvrtc.h"
#include "same_signature.h"

#define DRIVER(ours, theirs) SAME_SIGNATURE_IN(Cuda, ours, theirs)
DRIVER(init, cuInit);
DRIVER(driverGetVersion, cuDriverGetVersion);
DRIVER(getErrorName, cuGetErrorName);
DRIVER(getErrorString, cuGetErrorString);
DRIVER(deviceGetCount, cuDeviceGetCount);
DRIVER(deviceGet, cuDeviceGet);
DRIVER(deviceGetName, cuDeviceGetName);
DRIVER(deviceGetPciBusId, cuDeviceGetPCIBusId);
DRIVER(deviceTotalMem, cuDeviceTotalMem_v2);
DRIVER(primaryContextRetain, cuDevicePrimaryCtxRetain);
DRIVER(setCurrentContext, cuCtxSetCurrent);
DRIVER(memAlloc, cuMemAlloc_v2);
DRIVER(memFree, cuMemFree_v2);
DRIVER(memHostAlloc, cuMemHostAlloc);
DRIVER(memFreeHost, cuMemFreeHost);
DRIVER(memcpyHostToDevice, cuMemcpyHtoDAsync_v2);
DRIVER(memcpyDeviceToHost, cuMemcpyDtoHAsync_v2);
DRIVER(memcpyDeviceToDevice, cuMemcpyDtoDAsync_v2);
DRIVER(memset8, cuMemsetD8Async);
DRIVER(streamCreate, cuStreamCreate);
DRIVER(streamDestroy, cuStreamDestroy_v2);
DRIVER(streamWaitEvent, cuStreamWaitEvent);
DRIVER(eventCreate, cuEventCreate);
DRIVER(eventRecord, cuEventRecord);
DRIVER(eventQuery, cuEventQuery);
DRIVER(eventDestroy, cuEventDestroy_v2);
DRIVER(launchHostFunction, cuLaunchHostFunc);

#define COMPUTE(ours, theirs) SAME_SIGNATURE_IN(CudaCompute, ours, theirs)
COMPUTE(deviceGetAttribute, cuDeviceGetAttribute);
COMPUTE(memGetInfo, cuMemGetInfo_v2);
COMPUTE(moduleLoadData, cuModuleLoadData);
COMPUTE(moduleUnload, cuModuleUnload);
COMPUTE(moduleGetFunction, cuModuleGetFunction);
COMPUTE(funcGetAttribute, cuFuncGetAttribute);
COMPUTE(funcSetAttribute, cuFuncSetAttribute);
COMPUTE(funcGetParamInfo, cuFuncGetParamInfo);
COMPUTE(launchKernel, cuLaunchKernel);
COMPUTE(streamSynchronize, cuStreamSynchronize);
COMPUTE(streamBeginCapture, cuStreamBeginCapture_v2);
COMPUTE(streamEndCapture, cuStreamEndCapture);
COMPUTE(eventSynchronize, cuEventSynchronize);
COMPUTE(eventElapsedTime, cuEventElapsedTime_v2);
COMPUTE(graphInstantiate, cuGraphInstantiateWithFlags);
COMPUTE(graphLaunch, cuGraphLaunch);
COMPUTE(graphGetNodes, cuGraphGetNodes);
COMPUTE(graphExecDestroy, cuGraphExecDestroy);
COMPUTE(graphDestroy, cuGraphDestroy);

SAME_VALUE(ringrun::kCudaNotReady, CUDA_ERROR_NOT_READY);
SAME_VALUE(ringrun::kCudaInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME_VALUE(ringrun::kMemHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME_VALUE(ringrun::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME_VALUE(ringrun::kEventBlockingSync, CU_EVENT_BLOCKING_SYNC);
SAME_VALUE(ringrun::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME_VALUE(ringrun::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_VALUE(ringrun::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_VALUE(ringrun::kMaxSharedBytesOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME_VALUE(ringrun::kFunctionMaxThreads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_VALUE(ringrun::kFunctionSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME_VALUE(ringrun::kFunctionLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME_VALUE(ringrun::kFunctionRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME_VALUE(ringrun::kFunctionMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_VALUE(ringrun::kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);

#define NVRTC(ours, theirs) SAME_SIGNATURE_IN(Nvrtc, ours, theirs)
NVRTC(getVersion, nvrtcVersion);
NVRTC(getErrorString, nvrtcGetErrorString);
NVRTC(createProgram, nvrtcCreateProgram);
NVRTC(destroyProgram, nvrtcDestroyProgram);
NVRTC(compileProgram, nvrtcCompileProgram);
NVRTC(getProgramLogSize, nvrtcGetProgramLogSize);
NVRTC(getProgramLog, nvrtcGetProgramLog);
NVRTC(getCubinSize, nvrtcGetCUBINSize);
NVRTC(getCubin, nvrtcGetCUBIN);
SAME_VALUE(ringrun::kNvrtcErrorCompilation, NVRTC_ERROR_COMPILATION);

#ifdef HAS_CUBLAS
#define CUBLASLT(ours, theirs) SAME_SIGNATURE_IN(CublasLt, ours, theirs)
CUBLASLT(getVersion, cublasLtGetVersion);
CUBLASLT(getStatusString, cublasLtGetStatusString);
CUBLASLT(create, cublasLtCreate);
CUBLASLT(descCreate, cublasLtMatmulDescCreate);
CUBLASLT(descDestroy, cublasLtMatmulDescDestroy);
CUBLASLT(descSet, cublasLtMatmulDescSetAttribute);
CUBLASLT(layoutCreate, cublasLtMatrixLayoutCreate);
CUBLASLT(layoutDestroy, cublasLtMatrixLayoutDestroy);
CUBLASLT(layoutSet, cublasLtMatrixLayoutSetAttribute);
CUBLASLT(preferenceCreate, cublasLtMatmulPreferenceCreate);
CUBLASLT(preferenceDestroy, cublasLtMatmulPreferenceDestroy);
CUBLASLT(preferenceSet, cublasLtMatmulPreferenceSetAttribute);
CUBLASLT(getHeuristic, cublasLtMatmulAlgoGetHeuristic);
CUBLASLT(matmul, cublasLtMatmul);
static_assert(sizeof(ringrun::CublasLtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(ringrun::CublasLtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(ringrun::CublasLtHeuristic, workspaceBytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(ringrun::CublasLtHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
SAME_VALUE(ringrun::kCublasSuccess, CUBLAS_STATUS_SUCCESS);
SAME_VALUE(ringrun::kCudaFloat32, CUDA_R_32F);
SAME_VALUE(ringrun::kCudaBFloat16, CUDA_R_16BF);
SAME_VALUE(ringrun::kCublasComputeFloat32, CUBLAS_COMPUTE_32F);
SAME_VALUE(ringrun::kCublasComputeTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME_VALUE(ringrun::kCublasTransposed, CUBLAS_OP_T);
SAME_VALUE(ringrun::kDescTransA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME_VALUE(ringrun::kDescTransB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME_VALUE(ringrun::kDescEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME_VALUE(ringrun::kDescBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME_VALUE(ringrun::kEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
SAME_VALUE(ringrun::kEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
SAME_VALUE(ringrun::kEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
SAME_VALUE(ringrun::kEpilogueGelu, CUBLASLT_EPILOGUE_GELU);
SAME_VALUE(ringrun::kEpilogueGelu | ringrun::kEpilogueBias, CUBLASLT_EPILOGUE_GELU_BIAS);
SAME_VALUE(ringrun::kLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME_VALUE(ringrun::kLayoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME_VALUE(ringrun::kPreferenceMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME_VALUE(ringrun::kPreferenceMinAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME_VALUE(ringrun::kPreferenceMinAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME_VALUE(ringrun::kPreferenceMinAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME_VALUE(ringrun::kPreferenceMinAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
#endif

#ifdef HAS_CUDNN
#define CUDNN(ours, theirs) SAME_SIGNATURE_IN(Cudnn, ours, theirs)
CUDNN(getVersion, cudnnGetVersion);
CUDNN(getErrorString, cudnnGetErrorString);
CUDNN(create, cudnnCreate);
CUDNN(destroy, cudnnDestroy);
CUDNN(setStream, cudnnSetStream);
CUDNN(tensorCreate, cudnnCreateTensorDescriptor);
CUDNN(tensorDestroy, cudnnDestroyTensorDescriptor);
CUDNN(tensorSet, cudnnSetTensorNdDescriptorEx);
CUDNN(filterCreate, cudnnCreateFilterDescriptor);
CUDNN(filterDestroy, cudnnDestroyFilterDescriptor);
CUDNN(filterSet, cudnnSetFilterNdDescriptor);
CUDNN(convolutionCreate, cudnnCreateConvolutionDescriptor);
CUDNN(convolutionDestroy, cudnnDestroyConvolutionDescriptor);
CUDNN(convolutionSet, cudnnSetConvolutionNdDescriptor);
CUDNN(convolutionSetGroups, cudnnSetConvolutionGroupCount);
CUDNN(convolutionSetMath, cudnnSetConvolutionMathType);
CUDNN(forwardAlgorithms, cudnnGetConvolutionForwardAlgorithm_v7);
CUDNN(inputGradientAlgorithms, cudnnGetConvolutionBackwardDataAlgorithm_v7);
CUDNN(weightGradientAlgorithms, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
CUDNN(forward, cudnnConvolutionForward);
CUDNN(inputGradient, cudnnConvolutionBackwardData);
CUDNN(weightGradient, cudnnConvolutionBackwardFilter);
#define SAME_ALGORITHM(Theirs)                                                                     \
  static_assert(sizeof(ringrun::CudnnAlgorithm) == sizeof(Theirs));                                \
  static_assert(offsetof(ringrun::CudnnAlgorithm, status) == offsetof(Theirs, status));            \
  static_assert(offsetof(ringrun::CudnnAlgorithm, workspaceBytes) == offsetof(Theirs, memory));    \
  static_assert(offsetof(ringrun::CudnnAlgorithm, determinism) == offsetof(Theirs, determinism));  \
  static_assert(offsetof(ringrun::CudnnAlgorithm, mathType) == offsetof(Theirs, mathType))
SAME_ALGORITHM(cudnnConvolutionFwdAlgoPerf_t);
SAME_ALGORITHM(cudnnConvolutionBwdDataAlgoPerf_t);
SAME_ALGORITHM(cudnnConvolutionBwdFilterAlgoPerf_t);
SAME_VALUE(ringrun::kCudnnSuccess, CUDNN_STATUS_SUCCESS);
SAME_VALUE(ringrun::kCudnnFloat32, CUDNN_DATA_FLOAT);
SAME_VALUE(ringrun::kCudnnBFloat16, CUDNN_DATA_BFLOAT16);
SAME_VALUE(ringrun::kCudnnNchw, CUDNN_TENSOR_NCHW);
SAME_VALUE(ringrun::kCudnnNhwc, CUDNN_TENSOR_NHWC);
SAME_VALUE(ringrun::kCudnnCrossCorrelation, CUDNN_CROSS_CORRELATION);
SAME_VALUE(ringrun::kCudnnDefaultMath, CUDNN_DEFAULT_MATH);
SAME_VALUE(ringrun::kCudnnFmaMath, CUDNN_FMA_MATH);
SAME_VALUE(ringrun::kCudnnDeterministic, CUDNN_DETERMINISTIC);
#endif
