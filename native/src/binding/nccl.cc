#include "binding/nccl.h"

#include <cstring>
#include <optional>

#include "base/failure.h"
#include "binding/describe_library.h"
#include "nccl/describe.h"
#include "gpu/measure.h"
#include "nccl/nccl.h"

namespace ringrun {
namespace {

Napi::Object toJs(Napi::Env env, const DeviceDescription& device) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("index", device.index);
  object.Set("name", device.name);
  object.Set("uuid", device.uuid);
  object.Set("pciBusId", device.pciBusId);
  object.Set("memoryBytes", static_cast<double>(device.memoryBytes));
  return object;
}

}  // namespace

Napi::Value describeNcclOf(const Napi::CallbackInfo& info) {
  NcclDescription description;
  const std::optional<Failure> failure = failureOf([&] { description = describeNccl(); });
  if (failure) throw Napi::Error::New(info.Env(), failure->detail);
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("cuda", toJs(info.Env(), description.cuda));
  object.Set("nccl", toJs(info.Env(), description.nccl));
  Napi::Array devices = Napi::Array::New(info.Env());
  for (const DeviceDescription& device : description.devices) devices.Set(devices.Length(), toJs(info.Env(), device));
  object.Set("devices", devices);
  return object;
}

Napi::Value ncclUniqueIdOf(const Napi::CallbackInfo& info) {
  NcclUniqueId id{};
  const std::optional<Failure> failure = failureOf([&] {
    const Nccl& nccl = Nccl::ofProcess();
    if (!nccl.problem().empty()) throw Failure(FailureCode::System, {}, nccl.problem());
    nccl.call(nccl.getUniqueId, "for a new communicator", &id);
  });
  if (failure) throw Napi::Error::New(info.Env(), failure->detail);
  Napi::Uint8Array bytes = Napi::Uint8Array::New(info.Env(), sizeof id);
  std::memcpy(bytes.Data(), &id, sizeof id);
  return bytes;
}

// (device, bytes, rounds)
Napi::Value measureCopiesOf(const Napi::CallbackInfo& info) {
  CopyBandwidth bandwidth{};
  const std::optional<Failure> failure = failureOf([&] {
    const auto bytes = static_cast<std::size_t>(info[1].As<Napi::Number>().Int64Value());
    bandwidth = measureCopies(Device::at(info[0].As<Napi::Number>()), bytes, info[2].As<Napi::Number>());
  });
  if (failure) throw Napi::Error::New(info.Env(), failure->detail);
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("toDevice", bandwidth.toDevice);
  object.Set("toHost", bandwidth.toHost);
  return object;
}

}  // namespace ringrun
