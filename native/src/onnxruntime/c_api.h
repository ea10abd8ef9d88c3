#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrun::ort {

// The part of onnxruntime's C API that is used. OrtApiBase::GetApi returns a table of functions, in which a version
// only appends: the position of a function is the same in every version that has it (onnxruntime_c_api.h, "OrtApi").
// So the header is not needed to compile, and the library is only needed to run.

struct Environment;
struct Status;  // null: success
struct MemoryInfo;
struct OnnxSession;
struct Value;
struct RunOptions;
struct SessionOptions;

// Newest version of the API that is used. The library must have it: onnxruntime 1.14 or newer.
constexpr std::uint32_t kApiVersion = 14;

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

using GetErrorMessage = Entry<2, const char*(const Status*)>;
using CreateEnv = Entry<3, Status*(int severity, const char* logId, Environment**)>;
using CreateSessionFromArray =
    Entry<8, Status*(const Environment*, const void* model, std::size_t bytes, const SessionOptions*, OnnxSession**)>;
using Run = Entry<9, Status*(OnnxSession*, const RunOptions*, const char* const* inputNames, const Value* const* inputs,
                             std::size_t inputCount, const char* const* outputNames, std::size_t outputCount, Value** outputs)>;
using CreateSessionOptions = Entry<10, Status*(SessionOptions**)>;
using DisableMemoryPattern = Entry<17, Status*(SessionOptions*)>;
using DisableCpuMemoryArena = Entry<19, Status*(SessionOptions*)>;
using SetSessionLogSeverityLevel = Entry<22, Status*(SessionOptions*, int severity)>;
using SetSessionGraphOptimizationLevel = Entry<23, Status*(SessionOptions*, int level)>;
using SetIntraOpThreadCount = Entry<24, Status*(SessionOptions*, int threads)>;
using SetInterOpThreadCount = Entry<25, Status*(SessionOptions*, int threads)>;
using CreateRunOptions = Entry<39, Status*(RunOptions**)>;
using RunOptionsSetTerminate = Entry<46, Status*(RunOptions*)>;
using CreateTensorWithData = Entry<49, Status*(const MemoryInfo*, void* data, std::size_t bytes, const std::int64_t* shape,
                                               std::size_t axes, int elementType, Value**)>;
using CreateCpuMemoryInfo = Entry<69, Status*(int allocatorType, int memoryType, MemoryInfo**)>;
using ReleaseStatus = Entry<93, void(Status*)>;
using ReleaseMemoryInfo = Entry<94, void(MemoryInfo*)>;
using ReleaseSession = Entry<95, void(OnnxSession*)>;
using ReleaseValue = Entry<96, void(Value*)>;
using ReleaseRunOptions = Entry<97, void(RunOptions*)>;
using ReleaseSessionOptions = Entry<100, void(SessionOptions*)>;
using AddSessionConfigEntry = Entry<130, Status*(SessionOptions*, const char* key, const char* value)>;

// OrtLoggingLevel
constexpr int kFatal = 4;
// GraphOptimizationLevel
constexpr int kDisableAll = 0;
constexpr int kEnableAll = 99;
// OrtAllocatorType, OrtMemType
constexpr int kDeviceAllocator = 0;
constexpr int kDefaultMemory = 0;

}  // namespace ringrun::ort
