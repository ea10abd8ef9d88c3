#include "gpu/cublaslt.h"

#include <map>
#include <mutex>

#include "gpu/library_search.h"
#include "gpu/toolkit_versions.h"

namespace ringrun {

const CublasLt& CublasLt::ofProcess() {
  static const CublasLt* const cublasLt = new CublasLt(candidatesOf({"RINGRUN_CUBLASLT_LIBRARY", toolkitFiles("libcublasLt.so"), nullptr,
                                                                     {"nvidia/cu13/lib", "nvidia/cublas/lib"}}));
  return *cublasLt;
}

std::string CublasLt::findProblem() const {
  if (!library.isOpen()) return "libcublasLt.so could not be opened";
  std::string missing;
  const auto need = [&](const auto& function) {
    if (!function) missing += (missing.empty() ? "" : ", ") + std::string(function.name());
  };
  need(getVersion), need(getStatusString), need(create);
  need(descCreate), need(descDestroy), need(descSet), need(layoutCreate), need(layoutDestroy), need(layoutSet);
  need(preferenceCreate), need(preferenceDestroy), need(preferenceSet), need(getHeuristic), need(matmul);
  return missing.empty() ? "" : library.path() + " lacks " + missing + ". Install cuBLAS 12.0 or later";
}

// 120402 is 12.4.2.
std::string CublasLt::version() const {
  if (!getVersion) return "";
  const std::size_t version = getVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100);
}

CublasLtHandle CublasLt::handleOf(const Device& device) const {
  static std::mutex mutex;
  static std::map<int, CublasLtHandle>* const handles = new std::map<int, CublasLtHandle>;
  if (!problem().empty()) throw Failure(FailureCode::System, {}, "cuBLASLt: " + problem());
  const std::lock_guard<std::mutex> lock(mutex);
  CublasLtHandle& handle = (*handles)[device.index()];
  if (handle == nullptr) call(create, device.name(), &handle);
  return handle;
}

void CublasLt::throwError(const char* function, const std::string& about, CublasStatus status) const {
  throw Failure(FailureCode::System, {},
                std::string(function) + " (" + about + "): " + getStatusString(status) + " (" + std::to_string(status) + ")");
}

}  // namespace ringrun
