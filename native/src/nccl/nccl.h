#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/failure.h"
#include "base/operation.h"
#include "gpu/cuda.h"
#include "base/dynamic_library.h"

namespace ringrun {

// The part of NVIDIA's NCCL in use, without its header: types and signatures of
// docs.nvidia.com/deeplearning/nccl/user-guide, chapter "NCCL API" (read for 2.21). All exist since 2.0 unless
// a comment names a version.

using NcclResult = int;    // ncclResult_t, an enum
using NcclDType = int;     // ncclDataType_t
using NcclReduceOp = int;  // ncclRedOp_t
struct NcclCommHandle;
using NcclComm = NcclCommHandle*;  // ncclComm_t

constexpr NcclResult kNcclSuccess = 0;     // ncclSuccess
constexpr NcclResult kNcclInProgress = 7;  // ncclInProgress, of non-blocking communicators (2.14)

struct NcclUniqueId {  // ncclUniqueId: NCCL_UNIQUE_ID_BYTES opaque bytes
  char bytes[128];
};

// ncclConfig_t of 2.14.0. Later versions append members, which default for this version number ("Communicator
// Creation and Management", ncclConfig_t).
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
  int padding = 0;
};
static_assert(sizeof(NcclConfig) == 24, "the layout of nccl.h");

// 2.14.0: the first version with non-blocking communicators, which can be aborted while being formed.
constexpr int kMinNcclVersion = 21400;

class Nccl {
 public:
  explicit Nccl(const std::vector<std::string>& candidates) : library(candidates) {}

  DynamicLibrary library;

  // "Communicator Creation and Management". ncclCommInitRankConfig and ncclCommFinalize 2.14; ncclGetLastError 2.13;
  // ncclCommGetAsyncError and ncclCommAbort 2.4.
  Function<NcclResult(int* version)> getVersion{library, "ncclGetVersion"};
  Function<NcclResult(NcclUniqueId* id)> getUniqueId{library, "ncclGetUniqueId"};
  using InitRankConfig = NcclResult(NcclComm*, int ranks, NcclUniqueId, int rank, NcclConfig*);
  Function<InitRankConfig> commInitRankConfig{library, "ncclCommInitRankConfig"};
  Function<NcclResult(NcclComm)> commFinalize{library, "ncclCommFinalize"};
  Function<NcclResult(NcclComm)> commDestroy{library, "ncclCommDestroy"};
  Function<NcclResult(NcclComm)> commAbort{library, "ncclCommAbort"};
  Function<NcclResult(NcclComm, NcclResult* error)> commGetAsyncError{library, "ncclCommGetAsyncError"};
  Function<const char*(NcclResult)> getErrorString{library, "ncclGetErrorString"};
  Function<const char*(NcclComm)> getLastError{library, "ncclGetLastError"};

  // "Collective Communication Functions": (send, receive, count of elements, dtype, reduction and root if any,
  // communicator, stream). The count is that of one rank's share: the elements that an allGather sends and a reduceScatter
  // receives.
  using Reducing = NcclResult(const void*, void*, std::size_t, NcclDType, NcclReduceOp, NcclComm, CuStream);
  using Rooted = NcclResult(const void*, void*, std::size_t, NcclDType, int root, NcclComm, CuStream);
  using ReducingToRoot = NcclResult(const void*, void*, std::size_t, NcclDType, NcclReduceOp, int root, NcclComm, CuStream);
  using Gathering = NcclResult(const void*, void*, std::size_t, NcclDType, NcclComm, CuStream);
  Function<Reducing> allReduce{library, "ncclAllReduce"};
  Function<Rooted> broadcast{library, "ncclBroadcast"};
  Function<ReducingToRoot> reduce{library, "ncclReduce"};
  Function<Gathering> allGather{library, "ncclAllGather"};
  Function<Reducing> reduceScatter{library, "ncclReduceScatter"};

  // "Point To Point Communication Functions" (2.7): (data, count of elements, dtype, peer, communicator, stream). "Group
  // Calls".
  Function<NcclResult(const void*, std::size_t, NcclDType, int peer, NcclComm, CuStream)> send{library, "ncclSend"};
  Function<NcclResult(void*, std::size_t, NcclDType, int peer, NcclComm, CuStream)> receive{library, "ncclRecv"};
  Function<NcclResult()> groupStart{library, "ncclGroupStart"};
  Function<NcclResult()> groupEnd{library, "ncclGroupEnd"};

  // The reason why it cannot be used; empty if it can.
  const std::string& problem() const { return problem_; }

  // The number of ncclGetVersion: 22105 is 2.21.5. 0 if no library was loaded.
  int version() const { return version_; }

  // The library of this process; the first call opens it.
  static const Nccl& ofProcess();

  // Calls a function. Throws a System failure with its name, `about`, and NCCL's error text. A call in progress
  // is not an error.
  template <typename... Parameters, typename... Arguments>
  void call(const Function<NcclResult(Parameters...)>& function, const std::string& about, Arguments... arguments) const {
    const NcclResult result = function(arguments...);
    if (result != kNcclSuccess && result != kNcclInProgress) throwError(function.name(), about, result);
  }

  // "unhandled system error (2), Call to connect returned Connection refused"
  std::string describe(NcclResult result) const;

 private:
  std::string findProblem();
  [[noreturn]] void throwError(const char* function, const std::string& about, NcclResult result) const;

  int version_ = 0;
  std::string problem_ = findProblem();
};

// "2.21.5"
std::string describeNcclVersion(int version);

// Defined for every dtype.
NcclDType ncclDTypeOf(DType dtype);

// NCCL has no bitwise reductions.
bool hasNcclReduceOp(ReduceOp op);
NcclReduceOp ncclReduceOpOf(ReduceOp op);

}  // namespace ringrun
