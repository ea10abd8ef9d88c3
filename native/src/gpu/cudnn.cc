#include "gpu/cudnn.h"

#include <map>

#include "gpu/cublaslt.h"
#include "gpu/library_search.h"

namespace ringrun {
namespace {

constexpr std::size_t kMinCudnnVersion = 90000;

// "9.28" of 92801.
std::string describeCudnnVersion(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100);
}

// Handles of one thread, by device.
struct CudnnHandles {
  std::map<int, CudnnHandle> all;
  ~CudnnHandles() {
    for (const auto& [device, handle] : all) Cudnn::ofProcess().destroy(handle);
  }
};

}  // namespace

// cuDNN uses cuBLASLt: that of this process, which is opened first.
const Cudnn& Cudnn::ofProcess() {
  static_cast<void>(CublasLt::ofProcess());
  static const Cudnn* const cudnn = new Cudnn(candidatesOf({"RINGRUN_CUDNN_LIBRARY", {"libcudnn.so.9"}, "CUDNN_HOME", {"nvidia/cudnn/lib"}}));
  return *cudnn;
}

std::string Cudnn::findProblem() const {
  if (!library.isOpen()) return "libcudnn.so.9 could not be opened";
  std::string missing;
  const auto need = [&](const auto& function) {
    if (!function) missing += (missing.empty() ? "" : ", ") + std::string(function.name());
  };
  need(getVersion), need(getErrorString), need(create), need(destroy), need(setStream);
  need(tensorCreate), need(tensorDestroy), need(tensorSet), need(filterCreate), need(filterDestroy), need(filterSet);
  need(convolutionCreate), need(convolutionDestroy), need(convolutionSet), need(convolutionSetGroups), need(convolutionSetMath);
  need(forwardAlgorithms), need(inputGradientAlgorithms), need(weightGradientAlgorithms);
  need(findForward), need(findInputGradient), need(findWeightGradient);
  need(forward), need(inputGradient), need(weightGradient);
  if (!missing.empty()) return library.path() + " lacks " + missing + ". Install cuDNN 9";
  if (getVersion() >= kMinCudnnVersion) return "";
  return library.path() + " is cuDNN " + describeCudnnVersion(getVersion()) + ", expected 9.0 or later";
}

std::string Cudnn::version() const { return getVersion ? describeCudnnVersion(getVersion()) : ""; }

CudnnHandle Cudnn::handleOf(int device) const {
  thread_local CudnnHandles handles;
  CudnnHandle& handle = handles.all[device];
  if (handle == nullptr) call(create, "GPU " + std::to_string(device), &handle);
  return handle;
}

void Cudnn::throwError(const char* function, const std::string& about, CudnnStatus status) const {
  throw Failure(FailureCode::System, {},
                std::string(function) + " (" + about + "): " + getErrorString(status) + " (" + std::to_string(status) + ")");
}

}  // namespace ringrun
