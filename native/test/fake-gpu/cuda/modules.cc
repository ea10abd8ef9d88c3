// Modules, their functions, and launches.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>

#include "cubin.h"
#include "cuda/block.h"
#include "cuda/driver.h"
#include "cuda/memory.h"
#include "cuda/streams.h"

struct FakeFunction;

// Kernels of one module run one at a time, because they have one block in global variables.
struct FakeModule {
  void* library = nullptr;
  const fake_gpu_kernel::Module* compiled = nullptr;
  std::mutex running;
  std::vector<std::unique_ptr<FakeFunction>> functions;
};

struct FakeFunction {
  FakeModule* module;
  const fake_gpu_kernel::Kernel* kernel;
  unsigned sharedBytes;
  std::atomic<unsigned> maxDynamicBytes{fake_cuda::kStaticSharedBytes};
};

namespace fake_cuda {
namespace {

using fake_gpu_kernel::Extent;

struct SharedMemory {
  const void* module;  // base address of the library
  void* data;
  std::size_t bytes;
};

// The file has a new name each time, because the dynamic loader knows libraries by their paths. It is removed once it is loaded.
void* openLibrary(const char* contents, std::uint64_t bytes) {
  static std::atomic<int> count{0};
  const char* const folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/ringrun-fake-module-" + std::to_string(::getpid()) + "-" +
                           std::to_string(++count) + ".so";
  std::ofstream(path, std::ios::binary).write(contents, static_cast<std::streamsize>(bytes));
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::fprintf(stderr, "fake CUDA: %s\n", ::dlerror());
  ::unlink(path.c_str());
  return library;
}

// The thread-local variables of a compiled module on this thread: its static shared memory.
SharedMemory staticSharedOf(const FakeModule& module) {
  // Looking it up takes a time that grows with the number of loaded modules.
  if (std::all_of(module.functions.begin(), module.functions.end(), [](const auto& one) { return one->sharedBytes == 0; })) return {};
  Dl_info library{};
  ::dladdr(reinterpret_cast<const void*>(module.compiled), &library);
  module.compiled->touchShared();
  SharedMemory shared{library.dli_fbase, nullptr, 0};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& found = *static_cast<SharedMemory*>(data);
        if (reinterpret_cast<const void*>(info->dlpi_addr) != found.module) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
          found.data = info->dlpi_tls_data;
          found.bytes = info->dlpi_phdr[i].p_memsz;
        }
        return 1;
      },
      &shared);
  return shared;
}

// `reverse`: blocks and threads run in the other order, which must not change results.
bool isReversed() {
  const char* const order = std::getenv("RINGRUN_FAKE_GPU_ORDER");
  return order != nullptr && std::string(order) == "reverse";
}

struct Launch {
  FakeFunction* function;
  Extent grid;
  Extent block;
  unsigned sharedBytes;
  std::vector<std::vector<unsigned char>> arguments;
  int device;
};

void carryOut(const Launch& launch) {
  if (errorOf(launch.device) != 0) return;
  FakeModule& module = *launch.function->module;
  const std::lock_guard<std::mutex> lock(module.running);
  const OpenMemory open;
  std::vector<void*> arguments;
  for (const auto& argument : launch.arguments) arguments.push_back(const_cast<unsigned char*>(argument.data()));
  const SharedMemory shared = staticSharedOf(module);
  BlockRunner runner(*module.compiled, *launch.function->kernel, shared.data, shared.bytes, launch.sharedBytes);
  const bool reversed = isReversed();
  const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const std::uint64_t at = reversed ? blocks - 1 - i : i;
    const Extent index{static_cast<unsigned>(at % launch.grid.x), static_cast<unsigned>(at / launch.grid.x % launch.grid.y),
                       static_cast<unsigned>(at / launch.grid.x / launch.grid.y)};
    const std::string problem = runner.run(launch.grid, launch.block, index, arguments.data(), reversed);
    if (!problem.empty()) return fail(launch.device, kLaunchFailed, problem);
  }
}

bool fits(unsigned value, unsigned limit) { return value >= 1 && value <= limit; }

// The limits of every GPU since compute capability 3.0.
int checkExtents(const Launch& launch) {
  const auto& [grid, block] = std::tie(launch.grid, launch.block);
  if (!fits(grid.x, 0x7fffffff) || !fits(grid.y, 65535) || !fits(grid.z, 65535)) return kInvalidValue;
  if (!fits(block.x, 1024) || !fits(block.y, 1024) || !fits(block.z, 64)) return kInvalidValue;
  const unsigned threads = block.x * block.y * block.z;
  if (threads > fake_gpu_kernel::kMaxThreads) return kInvalidValue;
  if (threads > launch.function->kernel->maxThreads) return kInvalidValue;
  const unsigned shared = launch.function->sharedBytes + launch.sharedBytes;
  const bool isLarge = shared > kStaticSharedBytes;
  return isLarge && launch.sharedBytes > launch.function->maxDynamicBytes ? kInvalidValue : kSuccess;
}

// The kernel's pointers must be null, memory of a GPU or its end (an array without elements), or page-locked.
bool isAddressable(const void* pointer) { return pointer == nullptr || hostAddressOf(pointer, 0) != nullptr || isPinned(pointer, 1); }

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_GPU_EXPORT int cuModuleLoadData(FakeModule** module, const void* image) {
  FAKE_GPU_UNSAFE_CALL("cuModuleLoadData");
  fake_gpu::CubinHeader header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.magic, fake_gpu::kCubinMagic, sizeof header.magic) != 0) return kInvalidImage;
  // A cubin runs on its compute capability and on later ones with the same major version.
  const unsigned capability = kCapabilityMajor * 10 + kCapabilityMinor;
  if (header.architecture / 10 != kCapabilityMajor || header.architecture > capability) return kNoBinaryForGpu;
  const auto* const kernels = static_cast<const char*>(image) + sizeof header;
  const char* const library = kernels + header.kernels * sizeof(fake_gpu::CubinKernel);
  auto loaded = std::make_unique<FakeModule>();
  loaded->library = openLibrary(library, header.libraryBytes);
  if (loaded->library == nullptr) return kInvalidImage;
  loaded->compiled = static_cast<const fake_gpu_kernel::Module*>(::dlsym(loaded->library, "fakeGpuModule"));
  if (loaded->compiled == nullptr || loaded->compiled->version != fake_gpu_kernel::kVersion) return kInvalidImage;
  for (unsigned i = 0; i < loaded->compiled->count; ++i) {
    fake_gpu::CubinKernel resources;
    std::memcpy(&resources, kernels + i * sizeof resources, sizeof resources);
    auto function = std::make_unique<FakeFunction>();
    function->module = loaded.get();
    function->kernel = &loaded->compiled->kernels[i];
    function->sharedBytes = static_cast<unsigned>(resources.sharedBytes);
    loaded->functions.push_back(std::move(function));
  }
  *module = loaded.release();
  return kSuccess;
}

FAKE_GPU_EXPORT int cuModuleUnload(FakeModule* module) {
  FAKE_GPU_UNSAFE_CALL("cuModuleUnload");
  awaitAllStreams();
  ::dlclose(module->library);
  delete module;
  return kSuccess;
}

// Only kernels with C linkage have their own name.
FAKE_GPU_EXPORT int cuModuleGetFunction(FakeFunction** function, FakeModule* module, const char* name) {
  FAKE_GPU_CALL_IN_CONTEXT("cuModuleGetFunction");
  for (const auto& one : module->functions) {
    if (std::strcmp(one->kernel->name, name) != 0 || ::dlsym(module->library, name) == nullptr) continue;
    *function = one.get();
    return kSuccess;
  }
  return kNotFound;
}

FAKE_GPU_EXPORT int cuFuncGetAttribute(int* value, int attribute, FakeFunction* function) {
  FAKE_GPU_CALL_IN_CONTEXT("cuFuncGetAttribute");
  switch (attribute) {
    case 0: *value = static_cast<int>(function->kernel->maxThreads); return kSuccess;
    case 1: *value = static_cast<int>(function->sharedBytes); return kSuccess;
    case 3: *value = 0; return kSuccess;   // local memory
    case 4: *value = 32; return kSuccess;  // registers
    case 8: *value = static_cast<int>(function->maxDynamicBytes.load()); return kSuccess;
    default: return kInvalidValue;
  }
}

FAKE_GPU_EXPORT int cuFuncSetAttribute(FakeFunction* function, int attribute, int value) {
  FAKE_GPU_CALL_IN_CONTEXT("cuFuncSetAttribute");
  if (attribute != 8 || value < 0 || static_cast<unsigned>(value) + function->sharedBytes > kOptInSharedBytes) return kInvalidValue;
  function->maxDynamicBytes = static_cast<unsigned>(value);
  return kSuccess;
}

FAKE_GPU_EXPORT int cuFuncGetParamInfo(FakeFunction* function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  FAKE_GPU_CALL_IN_CONTEXT("cuFuncGetParamInfo");
  if (index >= function->kernel->parameters) return kInvalidValue;
  *offset = 0;
  *bytes = function->kernel->bytes[index];
  return kSuccess;
}

FAKE_GPU_EXPORT int cuLaunchKernel(FakeFunction* function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                                   unsigned blockZ, unsigned sharedBytes, FakeStream* stream, void** arguments, void** extra) {
  FAKE_GPU_CALL_IN_CONTEXT("cuLaunchKernel");
  Launch launch{function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, {}, currentDevice()};
  if (extra != nullptr) return kNotSupported;
  if (const int error = checkExtents(launch); error != kSuccess) return error;
  for (unsigned i = 0; i < function->kernel->parameters; ++i) {
    const auto* const begin = static_cast<const unsigned char*>(arguments[i]);
    launch.arguments.emplace_back(begin, begin + function->kernel->bytes[i]);
    const void* pointer = nullptr;
    if (function->kernel->isPointer[i]) std::memcpy(&pointer, begin, sizeof pointer);
    if (!isAddressable(pointer)) {
      const std::string reason = std::string("kernel ") + function->kernel->name + ": argument " + std::to_string(i) + " is not on a GPU";
      fail(launch.device, kIllegalAddress, reason);
    }
  }
  return enqueue(stream, [launch = std::move(launch)] { carryOut(launch); });
}
