#include "nccl/nccl.h"

#include "gpu/library_search.h"

namespace ringrun {

const Nccl& Nccl::ofProcess() {
  // Never destroyed: the library's threads may use it until the process ends.
  static const Nccl* const nccl = new Nccl(candidatesOf({"RINGRUN_NCCL_LIBRARY", {"libnccl.so.2"}, "NCCL_HOME", {"nvidia/nccl/lib"}}));
  return *nccl;
}

std::string Nccl::findProblem() {
  if (!library.isOpen()) return "libnccl.so.2 could not be opened";
  if (!getVersion || getVersion(&version_) != kNcclSuccess) return library.path() + " does not report its version";
  if (version_ < kMinNcclVersion) {
    return library.path() + " is NCCL " + describeNcclVersion(version_) + ", expected " + describeNcclVersion(kMinNcclVersion) +
           " or later (older versions cannot abort a stuck operation)";
  }
  std::string missing;
  const auto need = [&](const auto& function) {
    if (!function) missing += (missing.empty() ? "" : ", ") + std::string(function.name());
  };
  need(getUniqueId), need(commInitRankConfig), need(commFinalize), need(commDestroy), need(commAbort);
  need(commGetAsyncError), need(getErrorString), need(getLastError);
  need(allReduce), need(broadcast), need(reduce), need(allGather), need(reduceScatter);
  need(send), need(receive), need(groupStart), need(groupEnd);
  return missing.empty() ? "" : library.path() + " lacks " + missing;
}

// ncclGetLastError refers to this thread's last call; older versions return no text.
std::string Nccl::describe(NcclResult result) const {
  const char* const last = getLastError(nullptr);
  const std::string more = last == nullptr || last[0] == '\0' ? "" : std::string(", ") + last;
  return std::string(getErrorString(result)) + " (" + std::to_string(result) + ")" + more;
}

void Nccl::throwError(const char* function, const std::string& about, NcclResult result) const {
  throw Failure(FailureCode::System, {},
                std::string(function) + " (" + about + "): " + describe(result) + ". Set NCCL_DEBUG=WARN for details");
}

// Since 2.9 major × 10,000, before × 1,000 (nccl.h, NCCL_VERSION).
std::string describeNcclVersion(int version) {
  const int unit = version < 10000 ? 1000 : 10000;
  return std::to_string(version / unit) + "." + std::to_string(version % unit / 100) + "." + std::to_string(version % 100);
}

NcclDType ncclDTypeOf(DType dtype) {
  switch (dtype) {
    case DType::Int8: return 0;
    case DType::None:
    case DType::UInt8: return 1;
    case DType::Int32: return 2;
    case DType::UInt32: return 3;
    case DType::Int64: return 4;
    case DType::UInt64: return 5;
    case DType::Float16: return 6;
    case DType::Float32: return 7;
    case DType::Float64: return 8;
    case DType::BFloat16: return 9;  // 2.10
  }
  return 1;
}

bool hasNcclReduceOp(ReduceOp op) { return op >= ReduceOp::Sum && op <= ReduceOp::Max; }

NcclReduceOp ncclReduceOpOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::Product: return 1;
    case ReduceOp::Max: return 2;
    case ReduceOp::Min: return 3;
    case ReduceOp::Avg: return 4;  // 2.10
    default: return 0;
  }
}

}  // namespace ringrun
