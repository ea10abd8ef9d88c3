// The part of ProcessGroup that allocates memory.
#include <utility>
#include <vector>

#include "binding/call_arguments.h"
#include "binding/process_group.h"

namespace ringrun {

// (dtype, length, timeoutMs)
Napi::Value ProcessGroup::allocateSync(const Napi::CallbackInfo& info) {
  const DType dtype = dtypeOf(info[0]);
  const auto count = static_cast<std::uint64_t>(info[1].As<Napi::Number>().Int64Value());
  const double timeoutMs = info[2].As<Napi::Number>();
  const Fingerprint fingerprint = fingerprintOf(Op::Allocate, ReduceOp::None, dtype, 0, count);
  Allocation allocation;
  const auto allocate = [&](Collectives& collectives, const Call& call) { allocation = collectives.allocate(call); };
  const bool isDone = runSync(info.Env(), workOf(fingerprint, timeoutMs, allocate));
  if (!isDone) return info.Env().Undefined();
  return allocations_.bufferOf(info.Env(), std::move(allocation), fingerprint.bytes(), true);
}

// (dtype, length, timeoutMs)
Napi::Value ProcessGroup::allocateForHostSync(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto count = static_cast<std::uint64_t>(info[1].As<Napi::Number>().Int64Value());
  const Fingerprint fingerprint = fingerprintOf(Op::Allocate, ReduceOp::None, dtypeOf(info[0]), 0, count);
  HostAllocation shared;
  const auto allocate = [&](Collectives& collectives, const Call& call) { shared = collectives.allocateForHost(call); };
  if (!runSync(env, workOf(fingerprint, info[2].As<Napi::Number>(), allocate))) return env.Undefined();
  Napi::Object result = Napi::Object::New(env);
  result.Set("buffer", allocations_.bufferOf(env, std::move(shared.allocation), fingerprint.bytes(), false));
  result.Set("place", shared.place);
  result.Set("ranks", shared.ranks);
  return result;
}

// (tensor, dtype, timeoutMs): the memory of the other ranks; null for this rank, whose memory JavaScript already has.
Napi::Value ProcessGroup::slicesOfSync(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  const std::size_t bytes = elements.count * bytesPerElement(elements.dtype);
  std::vector<Allocation> slices;
  const auto find = [&](Collectives& collectives, const Call&) { slices = collectives.memoryOfRanks(elements.data, bytes); };
  const Fingerprint fingerprint = fingerprintOf(Op::Allocate, ReduceOp::None, elements.dtype, 0, elements.count);
  if (!runSync(env, workAlone(fingerprint, info[2].As<Napi::Number>(), find)) || slices.empty()) return env.Undefined();
  Napi::Array buffers = Napi::Array::New(env, slices.size());
  for (std::uint32_t rank = 0; rank < slices.size(); ++rank) {
    const bool isOwn = slices[rank].data == elements.data;
    buffers.Set(rank, isOwn ? env.Null() : Napi::Value(allocations_.bufferOf(env, std::move(slices[rank]), bytes, true)));
  }
  return buffers;
}

}  // namespace ringrun
