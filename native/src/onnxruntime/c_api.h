#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrun::ort {

// The part of onnxruntime's C API in use. OrtApiBase::GetApi returns a table of functions, in which a version
// only appends: the position of a function is the same in every version that has it (onnxruntime_c_api.h, "OrtApi").
// So compiling needs no header, and only running needs the library.

struct Environment;
struct Status;  // null: success
struct MemoryInfo;
struct OnnxSession;
struct Value;
struct RunOptions;
struct SessionOptions;
struct ShapeInfo;
struct CustomOperatorDomain;
struct KernelInfo;
struct KernelContext;

// The API version in use. The library must have it: onnxruntime 1.18 or newer. Custom operators are
// described in the layout of this version (CustomOperator).
constexpr std::uint32_t kApiVersion = 18;

struct Table;

struct ApiBase {
  const Table* (*getApi)(std::uint32_t version);  // null if the library is older
  const char* (*getVersionString)();
};

// The function at one position of the table.
template <std::size_t position, typename Signature>
struct Entry;

template <std::size_t position, typename Result, typename... Arguments>
struct Entry<position, Result(Arguments...)> {
  static Result call(const Table* table, Arguments... arguments) {
    using Function = Result (*)(Arguments...);
    return reinterpret_cast<const Function*>(table)[position](arguments...);
  }
};

using CreateStatus = Entry<0, Status*(int code, const char* message)>;
using GetErrorMessage = Entry<2, const char*(const Status*)>;
using CreateEnv = Entry<3, Status*(int severity, const char* logId, Environment**)>;
using CreateSessionFromArray =
    Entry<8, Status*(const Environment*, const void* model, std::size_t bytes, const SessionOptions*, OnnxSession**)>;
using Run = Entry<9, Status*(OnnxSession*, const RunOptions*, const char* const* inputNames, const Value* const* inputs,
                             std::size_t inputCount, const char* const* outputNames, std::size_t outputCount, Value** outputs)>;
using CreateSessionOptions = Entry<10, Status*(SessionOptions**)>;
using DisableMemoryPattern = Entry<17, Status*(SessionOptions*)>;
using SetSessionLogSeverityLevel = Entry<22, Status*(SessionOptions*, int severity)>;
using SetSessionGraphOptimizationLevel = Entry<23, Status*(SessionOptions*, int level)>;
using SetIntraOpThreadCount = Entry<24, Status*(SessionOptions*, int threads)>;
using SetInterOpThreadCount = Entry<25, Status*(SessionOptions*, int threads)>;
using CreateCustomOpDomain = Entry<26, Status*(const char* domain, CustomOperatorDomain**)>;
using CustomOpDomainAdd = Entry<27, Status*(CustomOperatorDomain*, const struct CustomOperator*)>;
using AddCustomOpDomain = Entry<28, Status*(SessionOptions*, CustomOperatorDomain*)>;
using CreateRunOptions = Entry<39, Status*(RunOptions**)>;
using RunOptionsSetTerminate = Entry<46, Status*(RunOptions*)>;
using CreateTensorWithData = Entry<49, Status*(const MemoryInfo*, void* data, std::size_t bytes, const std::int64_t* shape,
                                               std::size_t axes, int elementType, Value**)>;
using GetTensorMutableData = Entry<51, Status*(Value*, void** data)>;
using GetTensorElementType = Entry<60, Status*(const ShapeInfo*, int* elementType)>;
using GetDimensionsCount = Entry<61, Status*(const ShapeInfo*, std::size_t* count)>;
using GetDimensions = Entry<62, Status*(const ShapeInfo*, std::int64_t* sizes, std::size_t count)>;
using GetTensorTypeAndShape = Entry<65, Status*(const Value*, ShapeInfo**)>;
using CreateCpuMemoryInfo = Entry<69, Status*(int allocatorType, int memoryType, MemoryInfo**)>;
using GetAllocatorWithDefaultOptions = Entry<78, Status*(struct Allocator**)>;
using KernelInfoGetAttributeFloat = Entry<85, Status*(const KernelInfo*, const char* name, float*)>;
using KernelInfoGetAttributeInt64 = Entry<86, Status*(const KernelInfo*, const char* name, std::int64_t*)>;
using KernelContextGetInputCount = Entry<88, Status*(const KernelContext*, std::size_t*)>;
using KernelContextGetOutputCount = Entry<89, Status*(const KernelContext*, std::size_t*)>;
using KernelContextGetInput = Entry<90, Status*(const KernelContext*, std::size_t index, const Value**)>;
using KernelContextGetOutput = Entry<91, Status*(KernelContext*, std::size_t index, const std::int64_t* shape, std::size_t axes, Value**)>;
using ReleaseStatus = Entry<93, void(Status*)>;
using ReleaseMemoryInfo = Entry<94, void(MemoryInfo*)>;
using ReleaseSession = Entry<95, void(OnnxSession*)>;
using ReleaseValue = Entry<96, void(Value*)>;
using ReleaseRunOptions = Entry<97, void(RunOptions*)>;
using ReleaseShapeInfo = Entry<99, void(ShapeInfo*)>;
using ReleaseSessionOptions = Entry<100, void(SessionOptions*)>;
using ReleaseCustomOpDomain = Entry<101, void(CustomOperatorDomain*)>;
using RegisterAllocator = Entry<176, Status*(Environment*, struct Allocator*)>;
using AddSessionConfigEntry = Entry<130, Status*(SessionOptions*, const char* key, const char* value)>;
// An array attribute: with values null, only its length is returned in count.
using KernelInfoGetAttributeArrayInt64 = Entry<163, Status*(const KernelInfo*, const char* name, std::int64_t* values, std::size_t* count)>;
// Calls run(data, i) for every i below total, on the threads of the session. Blocks until all calls have returned.
using KernelContextParallelFor = Entry<274, Status*(const KernelContext*, void (*run)(void*, std::size_t), std::size_t total, std::size_t batches, void* data)>;

// OrtLoggingLevel
constexpr int kFatal = 4;
// GraphOptimizationLevel
constexpr int kDisableAll = 0;
constexpr int kEnableAll = 99;
// OrtAllocatorType, OrtMemType
constexpr int kDeviceAllocator = 0;
constexpr int kDefaultMemory = 0;
// OrtErrorCode
constexpr int kFailure = 1;
// ONNXTensorElementDataType, as onnx.TensorProto.DataType
constexpr int kAnyType = 0;
constexpr int kFloat32 = 1;
constexpr int kInt64 = 7;
constexpr int kBool = 9;
constexpr int kBFloat16 = 16;
// OrtCustomOpInputOutputCharacteristic
constexpr int kRequired = 0;
constexpr int kOptional = 1;
constexpr int kVariadic = 2;

// OrtAllocator: memory for the values of sessions. Newer versions of the API append members; the library reads those of
// `version`.
struct Allocator {
  std::uint32_t version;
  void* (*allocate)(Allocator*, std::size_t bytes);
  void (*free)(Allocator*, void* block);
  const MemoryInfo* (*info)(const Allocator*);
  void* (*reserve)(Allocator*, std::size_t bytes);  // since API 18: for the weights of a session
};

// OrtCustomOp: the schema of an operator and the functions of its kernels. Newer versions of the API append members; the
// library reads those of `version`. It keeps the pointer as long as a session with the operator lives.
struct CustomOperator {
  std::uint32_t version;
  void* (*createKernel)(const CustomOperator*, const Table*, const KernelInfo*);
  const char* (*getName)(const CustomOperator*);
  const char* (*getExecutionProviderType)(const CustomOperator*);  // null: the CPU
  int (*getInputType)(const CustomOperator*, std::size_t index);
  std::size_t (*getInputTypeCount)(const CustomOperator*);
  int (*getOutputType)(const CustomOperator*, std::size_t index);
  std::size_t (*getOutputTypeCount)(const CustomOperator*);
  void (*kernelCompute)(void* kernel, KernelContext*);
  void (*kernelDestroy)(void* kernel);
  int (*getInputCharacteristic)(const CustomOperator*, std::size_t index);
  int (*getOutputCharacteristic)(const CustomOperator*, std::size_t index);
  int (*getInputMemoryType)(const CustomOperator*, std::size_t index);
  int (*getVariadicInputMinArity)(const CustomOperator*);
  int (*getVariadicInputHomogeneity)(const CustomOperator*);
  int (*getVariadicOutputMinArity)(const CustomOperator*);
  int (*getVariadicOutputHomogeneity)(const CustomOperator*);
  // Since API 16. They replace createKernel and kernelCompute, which cannot fail.
  Status* (*createKernelV2)(const CustomOperator*, const Table*, const KernelInfo*, void** kernel);
  Status* (*kernelComputeV2)(void* kernel, KernelContext*);
  // Since API 17.
  Status* (*inferOutputShape)(const CustomOperator*, void* context);  // null: shapes are unknown until a run
  int (*getStartVersion)(const CustomOperator*);
  int (*getEndVersion)(const CustomOperator*);
  // Since API 18. Pairs (input, output) that may (inPlace) or must (alias) share memory; null: none.
  std::size_t (*getMayInPlace)(int** inputs, int** outputs);
  void (*releaseMayInPlace)(int* inputs, int* outputs);
  std::size_t (*getAliasMap)(int** inputs, int** outputs);
  void (*releaseAliasMap)(int* inputs, int* outputs);
};

}  // namespace ringrun::ort
