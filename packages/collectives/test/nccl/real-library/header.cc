// Checks that the binding in native/src/nccl has the ABI that NVIDIA's nccl.h declares: the compiler checks structs and
// signatures, the program the values of enums. Prints the version of the header.
#include <nccl.h>

#include <cstddef>
#include <cstdio>

#include "nccl/nccl.h"
#include "same_signature.h"

namespace ringrun {

#define SAME_SIGNATURE(ours, theirs) SAME_SIGNATURE_IN(Nccl, ours, theirs)

SAME_SIGNATURE(getVersion, ncclGetVersion);
SAME_SIGNATURE(getUniqueId, ncclGetUniqueId);
SAME_SIGNATURE(commInitRankConfig, ncclCommInitRankConfig);
SAME_SIGNATURE(commFinalize, ncclCommFinalize);
SAME_SIGNATURE(commDestroy, ncclCommDestroy);
SAME_SIGNATURE(commAbort, ncclCommAbort);
SAME_SIGNATURE(commGetAsyncError, ncclCommGetAsyncError);
SAME_SIGNATURE(getErrorString, ncclGetErrorString);
SAME_SIGNATURE(getLastError, ncclGetLastError);
SAME_SIGNATURE(allReduce, ncclAllReduce);
SAME_SIGNATURE(broadcast, ncclBroadcast);
SAME_SIGNATURE(reduce, ncclReduce);
SAME_SIGNATURE(allGather, ncclAllGather);
SAME_SIGNATURE(reduceScatter, ncclReduceScatter);
SAME_SIGNATURE(send, ncclSend);
SAME_SIGNATURE(receive, ncclRecv);
SAME_SIGNATURE(groupStart, ncclGroupStart);
SAME_SIGNATURE(groupEnd, ncclGroupEnd);

static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId) && sizeof(NcclUniqueId::bytes) == NCCL_UNIQUE_ID_BYTES);

// The binding passes the first members. NCCL reads no more of them than `size` and `version` allow.
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
static_assert(offsetof(NcclConfig, size) == offsetof(ncclConfig_t, size));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(NCCL_VERSION_CODE >= kMinNcclVersion);

static_assert(kNcclSuccess == ncclSuccess && kNcclInProgress == ncclInProgress);

// Number of values that differ.
int differences() {
  int count = 0;
  const auto same = [&](const char* name, int ours, int theirs) {
    if (ours == theirs) return;
    std::fprintf(stderr, "%s is %d, the binding has %d\n", name, theirs, ours);
    count += 1;
  };
  same("ncclInt8", ncclDTypeOf(DType::Int8), ncclInt8);
  same("ncclUint8", ncclDTypeOf(DType::UInt8), ncclUint8);
  same("ncclInt32", ncclDTypeOf(DType::Int32), ncclInt32);
  same("ncclUint32", ncclDTypeOf(DType::UInt32), ncclUint32);
  same("ncclInt64", ncclDTypeOf(DType::Int64), ncclInt64);
  same("ncclUint64", ncclDTypeOf(DType::UInt64), ncclUint64);
  same("ncclFloat16", ncclDTypeOf(DType::Float16), ncclFloat16);
  same("ncclFloat32", ncclDTypeOf(DType::Float32), ncclFloat32);
  same("ncclFloat64", ncclDTypeOf(DType::Float64), ncclFloat64);
  same("ncclBfloat16", ncclDTypeOf(DType::BFloat16), ncclBfloat16);
  same("ncclSum", ncclReduceOpOf(ReduceOp::Sum), ncclSum);
  same("ncclProd", ncclReduceOpOf(ReduceOp::Product), ncclProd);
  same("ncclMax", ncclReduceOpOf(ReduceOp::Max), ncclMax);
  same("ncclMin", ncclReduceOpOf(ReduceOp::Min), ncclMin);
  same("ncclAvg", ncclReduceOpOf(ReduceOp::Avg), ncclAvg);
  const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  same("ncclConfig_t.magic", static_cast<int>(NcclConfig{}.magic), static_cast<int>(config.magic));
  return count;
}

}  // namespace ringrun

int main() {
  std::printf("%s", ringrun::describeNcclVersion(NCCL_VERSION_CODE).c_str());
  return ringrun::differences() == 0 ? 0 : 1;
}
