#include "gpu/nvrtc.h"

#include "base/failure.h"
#include "gpu/cuda_compute.h"
#include "gpu/library_search.h"
#include "gpu/toolkit_versions.h"

namespace ringrun {
namespace {

// Destroys the program at the end of a compilation.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& source, const std::string& name) : nvrtc_(nvrtc) {
    check("nvrtcCreateProgram", nvrtc.createProgram(&handle_, source.c_str(), name.c_str(), 0, nullptr, nullptr));
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { nvrtc_.destroyProgram(&handle_); }

  NvrtcProgram handle() const { return handle_; }

  std::string log() const {
    std::size_t bytes = 0;
    check("nvrtcGetProgramLogSize", nvrtc_.getProgramLogSize(handle_, &bytes));
    std::string text(bytes, '\0');
    check("nvrtcGetProgramLog", nvrtc_.getProgramLog(handle_, text.data()));
    return text.substr(0, text.find('\0'));
  }

  std::string cubin() const {
    std::size_t bytes = 0;
    check("nvrtcGetCUBINSize", nvrtc_.getCubinSize(handle_, &bytes));
    std::string image(bytes, '\0');
    check("nvrtcGetCUBIN", nvrtc_.getCubin(handle_, image.data()));
    return image;
  }

  void check(const char* function, NvrtcResult result) const {
    if (result == kNvrtcSuccess) return;
    throw Failure(FailureCode::System, {}, std::string(function) + ": " + nvrtc_.getErrorString(result));
  }

 private:
  const Nvrtc& nvrtc_;
  NvrtcProgram handle_ = nullptr;
};

}  // namespace

const Nvrtc& Nvrtc::ofProcess() {
  static const Nvrtc* const nvrtc = new Nvrtc(candidatesOf({"RINGRUN_NVRTC_LIBRARY", toolkitFiles("libnvrtc.so"), nullptr,
                                                            {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"}}));
  return *nvrtc;
}

std::string Nvrtc::findProblem() {
  if (!library.isOpen()) return "libnvrtc.so could not be opened";
  std::string missing;
  const auto need = [&](const auto& function) {
    if (!function) missing += (missing.empty() ? "" : ", ") + std::string(function.name());
  };
  need(getVersion), need(getErrorString), need(createProgram), need(destroyProgram), need(compileProgram);
  need(getProgramLogSize), need(getProgramLog), need(getCubinSize), need(getCubin);
  if (!missing.empty()) return library.path() + " lacks " + missing + ". Install NVRTC 12.0 or later";
  if (getVersion(&major_, &minor_) != kNvrtcSuccess) return library.path() + " does not report its version";
  if (major_ < 12) return library.path() + " is NVRTC " + version() + ", expected 12.0 or later";
  return "";
}

std::string Nvrtc::version() const { return major_ == 0 ? "" : std::to_string(major_) + "." + std::to_string(minor_); }

Nvrtc::Compiled Nvrtc::compile(const std::string& source, const std::string& name, int architecture,
                               const std::vector<std::string>& options) const {
  if (!problem().empty()) throw Failure(FailureCode::System, {}, problem());
  const Program program(*this, source, name);
  const std::string target = "--gpu-architecture=sm_" + std::to_string(architecture);
  std::vector<const char*> all{target.c_str(), "--std=c++17"};
  for (const std::string& option : options) all.push_back(option.c_str());
  const NvrtcResult result = compileProgram(program.handle(), static_cast<int>(all.size()), all.data());
  if (result == kNvrtcErrorCompilation) {
    throw Failure(FailureCode::System, {}, name + " does not compile:\n" + program.log());
  }
  program.check(compileProgram.name(), result);
  return {program.cubin(), program.log()};
}

}  // namespace ringrun
