#include "binding/call_arguments.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace ringrun {

Endpoint endpointOf(const Napi::Object& object) {
  Endpoint endpoint;
  endpoint.socketName = object.Get("socketName").ToString();
  endpoint.address = object.Get("address").ToString();
  endpoint.port = static_cast<std::uint16_t>(object.Get("port").As<Napi::Number>().Uint32Value());
  if (object.Has("relayPort")) {
    endpoint.relayPort = static_cast<std::uint16_t>(object.Get("relayPort").As<Napi::Number>().Uint32Value());
  }
  const std::string hex = object.Get("token").ToString();
  for (std::size_t i = 0; i < kTokenBytes && 2 * i + 1 < hex.size(); ++i) {
    endpoint.token[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return endpoint;
}

Key keyOf(const Napi::Value& value) {
  Key key{};
  if (value.IsUndefined()) return key;
  const auto bytes = value.As<Napi::Uint8Array>();
  if (!value.IsTypedArray() || bytes.ByteLength() != key.size()) {
    throw Napi::TypeError::New(value.Env(), "expected a key of 32 bytes");
  }
  std::memcpy(key.data(), bytes.Data(), key.size());
  return key;
}

NcclUniqueId uniqueIdOf(const Napi::Value& value) {
  NcclUniqueId id{};
  const auto bytes = value.As<Napi::Uint8Array>();
  std::memcpy(&id, bytes.Data(), std::min(bytes.ByteLength(), sizeof id));
  return id;
}

Block Arrays::block(const Napi::Value& array) {
  if (array.IsNull()) return {};
  const Elements elements = elementsOf(array, dtype_);
  if (isKnown_ && elements.onDevice != onDevice_) {
    throw Napi::TypeError::New(array.Env(),
                               "expected all arrays on a GPU or all in host memory, got some of each");
  }
  isKnown_ = true;
  onDevice_ = elements.onDevice;
  return {elements.data, elements.count};
}

Blocks Arrays::blocks(const Napi::Value& list) {
  const auto arrays = list.As<Napi::Array>();
  Blocks blocks;
  for (std::uint32_t i = 0; i < arrays.Length(); ++i) blocks.push_back(block(arrays.Get(i)));
  return blocks;
}

bool Arrays::onDevice(const Napi::Value& declared) const {
  if (!isKnown_ || onDevice_ == declared.ToBoolean()) return declared.ToBoolean();
  throw Napi::TypeError::New(declared.Env(), "onDevice does not match the location of the arrays");
}

Message messageOf(Op op, const Napi::CallbackInfo& info) {
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  if (elements.onDevice) {
    throw Napi::TypeError::New(info.Env(), "expected a typed array in host memory, got a tensor on a GPU");
  }
  Message message;
  message.fingerprint.op = op;
  message.fingerprint.dtype = elements.dtype;
  message.fingerprint.count = elements.count;
  message.fingerprint.root = static_cast<std::uint32_t>(info[2].As<Napi::Number>().Int32Value());
  message.fingerprint.sequence = info[3].As<Napi::Number>().Uint32Value();
  message.data = elements.data;
  message.timeoutMs = info[4].As<Napi::Number>();
  return message;
}

Napi::Value retainedObjects(const Napi::CallbackInfo& info) {
  std::vector<Napi::Value> objects;
  for (std::size_t i = 0; i < info.Length(); ++i) {
    if (info[i].IsObject()) objects.push_back(info[i]);
  }
  if (objects.empty()) return info.Env().Undefined();
  if (objects.size() == 1) return objects.front();
  Napi::Array all = Napi::Array::New(info.Env());
  for (std::uint32_t i = 0; i < objects.size(); ++i) all.Set(i, objects[i]);
  return all;
}

Fingerprint fingerprintOf(Op op, ReduceOp reduceOp, DType dtype, std::uint32_t root, std::uint64_t count) {
  Fingerprint fingerprint;
  fingerprint.op = op;
  fingerprint.reduceOp = reduceOp;
  fingerprint.dtype = dtype;
  fingerprint.root = root;
  fingerprint.count = count;
  return fingerprint;
}

}  // namespace ringrun
