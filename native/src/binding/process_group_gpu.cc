// The part of ProcessGroup that requires a GPU.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "binding/call_arguments.h"
#include "binding/device_memory.h"
#include "binding/gpu_program.h"
#include "binding/gpu_values.h"
#include "binding/process_group.h"

namespace ringrun {
namespace {

std::uint8_t* placeOf(const Napi::Object& exchange, const char* memoryName, const char* offsetName, std::size_t bytes,
                      std::vector<DeviceMemoryObject::Owner>& owners) {
  const DeviceMemoryObject* const memory = DeviceMemoryObject::of(exchange.Get(memoryName));
  if (memory == nullptr || memory->data() == nullptr) {
    throw Napi::TypeError::New(exchange.Env(), std::string(memoryName) + ": expected memory of a GPU, got another value or freed memory");
  }
  const std::size_t offset = sizeOf(exchange.Get(offsetName));
  if (offset + bytes > memory->bytes()) {
    throw Napi::RangeError::New(exchange.Env(), std::string(memoryName) + ": expected " + std::to_string(bytes) + " bytes from byte " +
                                                    std::to_string(offset) + " on, got memory of " + std::to_string(memory->bytes()) + " bytes");
  }
  owners.push_back(memory->owner());
  return memory->data() + offset;
}

// A NativeGpuExchange of native/lib/process-group.ts.
GpuExchange gpuExchangeOf(const Napi::Object& object, int ranks, std::vector<DeviceMemoryObject::Owner>& owners) {
  GpuExchange exchange;
  const std::string kind = object.Get("kind").ToString();
  if (kind == "average") exchange.kind = GpuExchange::Kind::Average;
  if (kind == "gather") exchange.kind = GpuExchange::Kind::Gather;
  exchange.place = sizeOf(object.Get("place"));
  exchange.count = sizeOf(object.Get("count"));
  const std::size_t bytes = exchange.count * sizeof(float);
  const std::size_t received = exchange.kind == GpuExchange::Kind::Gather ? bytes * static_cast<std::size_t>(ranks) : bytes;
  exchange.send = placeOf(object, "send", "sendOffset", bytes, owners);
  exchange.receive = placeOf(object, "receive", "receiveOffset", received, owners);
  return exchange;
}

}  // namespace


// (device, id, timeoutMs)
Napi::Value ProcessGroup::joinNccl(const Napi::CallbackInfo& info) {
  const int index = info[0].As<Napi::Number>();
  const NcclUniqueId id = uniqueIdOf(info[1]);
  const double timeoutMs = info[2].As<Napi::Number>();
  const auto wrap = [this, index, id](std::unique_ptr<Collectives> cpu, Connections& connections, const Call& call) {
    auto collectives =
        std::make_unique<NcclCollectives>(std::move(cpu), connections, Device::at(index), id, call);
    gpu_ = collectives.get();
    return collectives;
  };
  return runAsync(info.Env(), [this, wrap, timeoutMs] { return group_.wrapCollectives(wrap, timeoutMs); },
               info.Env().Undefined());
}

// Throws if the array is on a GPU but the group is not.
void ProcessGroup::requireGpuGroup(Napi::Env env, bool onDevice) const {
  if (!onDevice || gpu_ != nullptr) return;
  throw Napi::TypeError::New(env,
                             "tensor is on a GPU, but this group's backend is gloo. Pass a typed array in host memory, or use "
                             "a group with backend nccl");
}

// An operation on arrays. Their location is part of the fingerprint.
Fingerprint ProcessGroup::placed(Napi::Env env, Fingerprint request, bool onDevice) const {
  requireGpuGroup(env, onDevice);
  request.onDevice = onDevice ? 1 : 0;
  return request;
}

Napi::Value ProcessGroup::copyToDevice(const Napi::CallbackInfo& info) { return copy(Op::CopyToDevice, info); }

Napi::Value ProcessGroup::copyToHost(const Napi::CallbackInfo& info) { return copy(Op::CopyToHost, info); }

// (onDevice, host, dtype, timeoutMs): copies as many elements as both arrays have.
Napi::Value ProcessGroup::copy(Op op, const Napi::CallbackInfo& info) {
  const DType dtype = dtypeOf(info[2]);
  const Elements onDevice = elementsOf(info[0], dtype);
  const Elements host = elementsOf(info[1], dtype);
  requireGpuGroup(info.Env(), onDevice.onDevice);
  Fingerprint fingerprint = fingerprintOf(op, ReduceOp::None, dtype, 0, host.count);
  fingerprint.onDevice = 1;
  const auto copyElements = [op, onDevice, host](Collectives& collectives, const Call& call) {
    auto& gpu = static_cast<NcclCollectives&>(collectives);
    if (op == Op::CopyToDevice) gpu.copyToDevice(call, host.data, onDevice.data);
    if (op == Op::CopyToHost) gpu.copyToHost(call, onDevice.data, host.data);
  };
  return runAsync(info.Env(), workAlone(fingerprint, info[3].As<Napi::Number>(), copyElements), retainedObjects(info));
}

Napi::Value ProcessGroup::sendOnDevice(const Napi::CallbackInfo& info) { return messageOnDevice(Op::Send, info); }

Napi::Value ProcessGroup::receiveOnDevice(const Napi::CallbackInfo& info) { return messageOnDevice(Op::Receive, info); }

// (tensor, dtype, rank, timeoutMs): in the order of the group's operations, but without a sequence number,
// because other ranks do not take part.
Napi::Value ProcessGroup::messageOnDevice(Op op, const Napi::CallbackInfo& info) {
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  requireGpuGroup(info.Env(), true);
  const int peer = info[2].As<Napi::Number>();
  const auto root = static_cast<std::uint32_t>(peer);
  Fingerprint fingerprint = fingerprintOf(op, ReduceOp::None, elements.dtype, root, elements.count);
  fingerprint.onDevice = 1;
  const auto exchange = [op, data = elements.data, peer](Collectives& collectives, const Call& call) {
    auto& gpu = static_cast<NcclCollectives&>(collectives);
    if (op == Op::Send) gpu.send(call, data, peer);
    if (op == Op::Receive) gpu.receive(call, data, peer);
  };
  return runAsync(info.Env(), workAlone(fingerprint, info[3].As<Napi::Number>(), exchange), retainedObjects(info));
}

// (program, exchanges, timeoutMs): see runProgram of native/lib/process-group.ts.
Napi::Value ProcessGroup::runProgram(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  requireGpuGroup(env, true);
  const GpuProgramObject* const object = GpuProgramObject::of(info[0]);
  if (object == nullptr) throw Napi::TypeError::New(env, "expected a program for a GPU");
  const GpuProgramObject::Run current = object->currentRun(env);
  NcclCollectives::ProgramRun run;
  auto owners = std::make_shared<std::vector<DeviceMemoryObject::Owner>>();
  const auto list = info[1].As<Napi::Array>();
  for (std::uint32_t i = 0; i < list.Length(); ++i) run.exchanges.push_back(gpuExchangeOf(list.Get(i).As<Napi::Object>(), group_.size(), *owners));
  run.device = current.device;
  run.program = current.program;
  run.slots = current.slots->addresses;
  run.ended = [current] { current.recordStatistics(); };
  run.owns = std::make_shared<std::pair<GpuProgramObject::Run, std::shared_ptr<std::vector<DeviceMemoryObject::Owner>>>>(current, owners);
  Fingerprint fingerprint = fingerprintOf(Op::GpuStep, ReduceOp::None, DType::Float32, static_cast<std::uint32_t>(run.exchanges.size()), 0);
  fingerprint.onDevice = 1;
  const auto operate = [run](Collectives& collectives, const Call& call) { static_cast<NcclCollectives&>(collectives).runProgram(call, run); };
  return runAsync(env, workOf(fingerprint, info[2].As<Napi::Number>(), operate), info[0]);
}

// (stream, timeoutMs): later work of the group's stream starts after the current work of `stream`.
Napi::Value ProcessGroup::afterStream(const Napi::CallbackInfo& info) {
  return synchronizeStreams(info, [](NcclCollectives& gpu, CuStream stream) { gpu.waitForStream(stream); });
}

// (stream, timeoutMs): later work of `stream` starts after the current work of the group's stream.
Napi::Value ProcessGroup::beforeStream(const Napi::CallbackInfo& info) {
  return synchronizeStreams(info, [](NcclCollectives& gpu, CuStream stream) { gpu.makeStreamWait(stream); });
}

template <typename Synchronize>
Napi::Value ProcessGroup::synchronizeStreams(const Napi::CallbackInfo& info, Synchronize synchronize) {
  requireGpuGroup(info.Env(), true);
  bool isExact = false;
  auto* const stream = reinterpret_cast<CuStream>(info[0].As<Napi::BigInt>().Uint64Value(&isExact));
  Fingerprint fingerprint;
  fingerprint.op = Op::CopyToDevice;
  const auto synchronizeBoth = [stream, synchronize](Collectives& collectives, const Call&) {
    synchronize(static_cast<NcclCollectives&>(collectives), stream);
  };
  return runAsync(info.Env(), workAlone(fingerprint, info[1].As<Napi::Number>(), synchronizeBoth), info.Env().Undefined());
}

}  // namespace ringrun
