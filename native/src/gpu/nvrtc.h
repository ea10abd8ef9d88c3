#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/dynamic_library.h"

namespace ringrun {

// NVRTC, which compiles CUDA C++ at run time, without its header: types and signatures of docs.nvidia.com/cuda/nvrtc (read for
// CUDA 13.0). It needs no GPU and no driver.

using NvrtcResult = int;  // nvrtcResult, an enum
struct NvrtcProgramHandle;
using NvrtcProgram = NvrtcProgramHandle*;  // nvrtcProgram

constexpr NvrtcResult kNvrtcSuccess = 0;
constexpr NvrtcResult kNvrtcErrorCompilation = 6;

class Nvrtc {
 public:
  explicit Nvrtc(const std::vector<std::string>& candidates) : library(candidates) {}

  DynamicLibrary library;

  Function<NvrtcResult(int* major, int* minor)> getVersion{library, "nvrtcVersion"};
  Function<const char*(NvrtcResult)> getErrorString{library, "nvrtcGetErrorString"};
  Function<NvrtcResult(NvrtcProgram*, const char* source, const char* name, int headers, const char* const* contents,
                       const char* const* includeNames)>
      createProgram{library, "nvrtcCreateProgram"};
  Function<NvrtcResult(NvrtcProgram*)> destroyProgram{library, "nvrtcDestroyProgram"};
  Function<NvrtcResult(NvrtcProgram, int options, const char* const* texts)> compileProgram{library, "nvrtcCompileProgram"};
  Function<NvrtcResult(NvrtcProgram, std::size_t* bytes)> getProgramLogSize{library, "nvrtcGetProgramLogSize"};
  Function<NvrtcResult(NvrtcProgram, char* log)> getProgramLog{library, "nvrtcGetProgramLog"};
  Function<NvrtcResult(NvrtcProgram, std::size_t* bytes)> getCubinSize{library, "nvrtcGetCUBINSize"};
  Function<NvrtcResult(NvrtcProgram, char* cubin)> getCubin{library, "nvrtcGetCUBIN"};

  // The reason why it cannot be used; empty if it can.
  const std::string& problem() const { return problem_; }

  // "13.0"; empty if unknown.
  std::string version() const;

  struct Compiled {
    std::string cubin;
    std::string log;  // warnings, and what the options print
  };

  // Compiles for compute capability 9.0 (`architecture` 90) to a cubin, which the driver loads without another compiler: a
  // newer NVRTC's PTX would be refused by an older driver. `options`: more options, such as --ptxas-options=-v. Throws Failure
  // with the log, which has the line of the source of each error.
  Compiled compile(const std::string& source, const std::string& name, int architecture, const std::vector<std::string>& options = {}) const;

  // The library of this process. Its version is at most the driver's, which cannot load newer cubins.
  static const Nvrtc& ofProcess();

 private:
  std::string findProblem();

  int major_ = 0;
  int minor_ = 0;
  std::string problem_ = findProblem();
};

}  // namespace ringrun
