// A fake NVRTC (libnvrtc.so): see fake_gpu.h. It compiles CUDA C++ with g++, over the header nvrtc/shim/kernel.h. Signatures and
// numbers are those of nvrtc.h.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cubin.h"
#include "fake_gpu.h"
#include "nvrtc/compiler.h"
#include "nvrtc/shared_memory.h"
#include "nvrtc/source.h"

namespace {

enum Result { Success = 0, InvalidInput = 3, InvalidProgram = 4, InvalidOption = 5, CompilationError = 6 };

constexpr std::uint64_t kStaticSharedBytes = 48 * 1024;

struct Program {
  std::string source;
  std::string name;
  std::string log;
  std::string cubin;
};

// 0 for an unknown option.
unsigned architectureOf(const char* option) {
  const std::string text = option;
  const std::string prefix = "--gpu-architecture=sm_";
  return text.compare(0, prefix.size(), prefix) == 0 ? static_cast<unsigned>(std::atoi(text.c_str() + prefix.size())) : 0;
}

int compileProgram(Program& program, unsigned architecture) {
  const std::vector<fake_nvrtc::KernelName> kernels = fake_nvrtc::kernelsIn(program.source);
  const fake_nvrtc::Compiled compiled = fake_nvrtc::compile(fake_nvrtc::translated(program.source, program.name, kernels));
  program.log = fake_nvrtc::messagesOf(compiled.log, program.source);
  if (!compiled.succeeded) return CompilationError;
  std::string names = " ";
  for (const auto& kernel : kernels) names += kernel.name + " ";
  std::vector<fake_gpu::CubinKernel> resources;
  for (const auto& kernel : kernels) {
    fake_gpu::CubinKernel one{};
    std::snprintf(one.name, sizeof one.name, "%s", kernel.name.c_str());
    one.sharedBytes = fake_nvrtc::sharedBytesOf(compiled.library, kernel.name, names);
    if (one.sharedBytes > kStaticSharedBytes) {
      program.log = "ptxas error   : Entry function '" + kernel.name + "' uses too much shared data (" + std::to_string(one.sharedBytes) +
                    " bytes, 49152 max)\n";
      return CompilationError;
    }
    resources.push_back(one);
  }
  program.cubin = fake_gpu::cubinOf(architecture, resources, compiled.library);
  return Success;
}

int copyOut(const std::string& text, char* to) {
  std::memcpy(to, text.data(), text.size());
  return Success;
}

}  // namespace

#define FAKE_NVRTC_CALL(name)                                                      \
  if (const std::string what = fake_gpu::faultOf(name); fake_gpu::isNumber(what)) { \
    return std::atoi(what.c_str());                                                \
  }

FAKE_GPU_EXPORT int nvrtcVersion(int* major, int* minor) {
  FAKE_NVRTC_CALL("nvrtcVersion");
  *major = 13, *minor = 0;
  return Success;
}

FAKE_GPU_EXPORT const char* nvrtcGetErrorString(int result) {
  switch (result) {
    case Success: return "NVRTC_SUCCESS";
    case InvalidInput: return "NVRTC_ERROR_INVALID_INPUT";
    case InvalidProgram: return "NVRTC_ERROR_INVALID_PROGRAM";
    case InvalidOption: return "NVRTC_ERROR_INVALID_OPTION";
    case CompilationError: return "NVRTC_ERROR_COMPILATION";
    default: return "NVRTC_ERROR injected by the fake NVRTC";
  }
}

FAKE_GPU_EXPORT int nvrtcCreateProgram(Program** program, const char* source, const char* name, int headers, const char* const*,
                                       const char* const*) {
  FAKE_NVRTC_CALL("nvrtcCreateProgram");
  if (headers != 0) return InvalidInput;
  *program = new Program{source, name == nullptr ? "default_program" : name, "", ""};
  return Success;
}

FAKE_GPU_EXPORT int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return Success;
}

FAKE_GPU_EXPORT int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  FAKE_NVRTC_CALL("nvrtcCompileProgram");
  unsigned architecture = 0;
  for (int i = 0; i < count; ++i) {
    const unsigned given = architectureOf(options[i]);
    if (given != 0) architecture = given;
    else if (std::strcmp(options[i], "--std=c++17") != 0) return InvalidOption;
  }
  if (architecture == 0) return InvalidOption;
  const int result = compileProgram(*program, architecture);
  if (result == Success) fake_nvrtc::keepSource(program->source, {options, options + count});
  return result;
}

FAKE_GPU_EXPORT int nvrtcGetProgramLogSize(Program* program, std::size_t* bytes) {
  *bytes = program->log.size() + 1;
  return Success;
}

FAKE_GPU_EXPORT int nvrtcGetProgramLog(Program* program, char* log) { return copyOut(program->log + '\0', log); }

FAKE_GPU_EXPORT int nvrtcGetCUBINSize(Program* program, std::size_t* bytes) {
  *bytes = program->cubin.size();
  return program->cubin.empty() ? InvalidProgram : Success;
}

FAKE_GPU_EXPORT int nvrtcGetCUBIN(Program* program, char* cubin) { return copyOut(program->cubin, cubin); }
