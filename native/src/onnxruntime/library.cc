#include "onnxruntime/library.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include "onnxruntime/library_file.h"
#include "onnxruntime/operator.h"

namespace ringrun::ort {
namespace {

// The library reads this variable when it is loaded. The `process.env` of a worker thread is a copy, so it is set here.
// To enable telemetry, set it to the empty string (onnxruntime, docs/Privacy.md).
void disableTelemetry() { ::setenv("ORT_DISABLE_TELEMETRY", "1", /*overwrite=*/0); }

std::vector<std::string> prepared(const std::string& path) {
  const std::string problem = problemOfLibraryFile(path);
  if (!problem.empty()) throw LibraryError(path + " " + problem);
  disableTelemetry();
  return {path};
}

}  // namespace

const Library& Library::at(const std::string& path) {
  static std::mutex mutex;
  // Never destroyed: threads of the library may outlive static objects.
  static auto& libraries = *new std::map<std::string, std::unique_ptr<Library>>();
  const std::lock_guard lock(mutex);
  std::unique_ptr<Library>& library = libraries[path];
  if (!library) library.reset(new Library(path));
  return *library;
}

Library::Library(const std::string& path) : opened_(prepared(path)) {
  if (!opened_.isOpen()) throw LibraryError("cannot load " + path + ": " + opened_.attempts().front().reason);
  const Function<const ApiBase*()> getApiBase(opened_, "OrtGetApiBase");
  const ApiBase* const base = getApiBase ? getApiBase() : nullptr;
  if (base == nullptr) throw LibraryError(path + " is not onnxruntime: it has no OrtGetApiBase");
  version_ = base->getVersionString();
  table_ = base->getApi(kApiVersion);
  if (table_ == nullptr) {
    throw LibraryError("expected onnxruntime 1." + std::to_string(kApiVersion) + " or newer, got " + version_ + " in " + path);
  }
  call<CreateEnv>(kFatal, "ringrun", &environment_);
  call<CreateCpuMemoryInfo>(kDeviceAllocator, kDefaultMemory, &hostMemory_);
  if (MemoryPool::ofProcess().isAvailable()) registerPool();
}

// The library calls the allocator until the process ends.
void Library::registerPool() {
  allocator_.version = kApiVersion;
  // No frame here may own an object with a destructor when `others` throws.
  allocator_.allocate = [](Allocator* self, std::size_t bytes) {
    const auto& own = *static_cast<PoolAllocator*>(self);
    void* const block = own.pool->allocate(bytes);
    return block == nullptr && bytes > 0 ? own.others->allocate(own.others, bytes) : block;
  };
  allocator_.free = [](Allocator* self, void* block) {
    const auto& own = *static_cast<PoolAllocator*>(self);
    if (block == nullptr || own.pool->contains(block)) return own.pool->free(block);
    own.others->free(own.others, block);
  };
  allocator_.info = [](const Allocator* self) { return static_cast<const PoolAllocator*>(self)->memoryInfo; };
  allocator_.reserve = allocator_.allocate;
  allocator_.pool = &MemoryPool::ofProcess();
  allocator_.memoryInfo = hostMemory_;
  call<GetAllocatorWithDefaultOptions>(&allocator_.others);
  call<RegisterAllocator>(environment_, static_cast<Allocator*>(&allocator_));
}

void Library::fail(Status* status) const {
  const std::string message = GetErrorMessage::call(table_, status);
  ReleaseStatus::call(table_, status);
  throw Error(message);
}

}  // namespace ringrun::ort
