#include "binding/gpu_definition.h"

#include <array>
#include <cstring>
#include <utility>

#include "binding/elements.h"
#include "binding/gpu_convolution.h"
#include "binding/gpu_module.h"
#include "binding/gpu_product.h"
#include "binding/gpu_values.h"
#include "gpu/exchanges.h"
#include "gpu/launch_command.h"

namespace ringrun {
namespace {

// [x, y, z]
std::array<unsigned, 3> extentOf(const Napi::Object& list) {
  return {list.Get(0u).ToNumber().Uint32Value(), list.Get(1u).ToNumber().Uint32Value(), list.Get(2u).ToNumber().Uint32Value()};
}

template <typename T>
KernelArgument scalar(T value) {
  KernelArgument argument;
  argument.bytes.resize(sizeof value);
  std::memcpy(argument.bytes.data(), &value, sizeof value);
  return argument;
}

std::int64_t int64Of(const Napi::Value& value) {
  bool isExact = false;
  return value.IsBigInt() ? value.As<Napi::BigInt>().Int64Value(&isExact) : value.ToNumber().Int64Value();
}

// A GpuArgument.
KernelArgument argumentOf(const Napi::Object& object) {
  if (object.Has("int32")) return scalar(object.Get("int32").ToNumber().Int32Value());
  if (object.Has("uint32")) return scalar(object.Get("uint32").ToNumber().Uint32Value());
  if (object.Has("int64")) return scalar(int64Of(object.Get("int64")));
  if (object.Has("uint64")) return scalar(static_cast<std::uint64_t>(int64Of(object.Get("uint64"))));
  if (object.Has("float32")) return scalar(object.Get("float32").ToNumber().FloatValue());
  if (object.Has("float64")) return scalar(object.Get("float64").ToNumber().DoubleValue());
  KernelArgument argument;
  if (object.Has("bytes")) {
    const ByteSpan bytes = bytesOf(object.Get("bytes"));
    const auto* const begin = static_cast<const std::uint8_t*>(bytes.data);
    argument.bytes.assign(begin, begin + bytes.bytes);
  } else if (object.Has("addresses")) {
    const auto list = object.Get("addresses").As<Napi::Array>();
    for (std::uint32_t i = 0; i < list.Length(); ++i) argument.addresses.push_back(addressOf(objectOf(list.Get(i))));
  } else {
    argument.addresses.push_back(addressOf(object));
  }
  return argument;
}

std::unique_ptr<GpuCommand> launchOf(const std::string& name, const Napi::Object& object) {
  KernelLaunch launch;
  launch.module = GpuModuleObject::of(object.Get("module"));
  launch.kernel = object.Get("kernel").ToString();
  launch.grid = extentOf(objectOf(object.Get("grid")));
  launch.block = extentOf(objectOf(object.Get("block")));
  launch.sharedBytes = object.Get("sharedBytes").IsUndefined() ? 0 : object.Get("sharedBytes").ToNumber().Uint32Value();
  const auto arguments = object.Get("arguments").As<Napi::Array>();
  for (std::uint32_t i = 0; i < arguments.Length(); ++i) launch.arguments.push_back(argumentOf(objectOf(arguments.Get(i))));
  return std::make_unique<LaunchCommand>(name, std::move(launch));
}

std::unique_ptr<GpuCommand> commandOf(const std::string& name, const Napi::Object& object, const Device& device) {
  const std::string kind = object.Get("kind").ToString();
  if (kind == "product") return productOf(name, object, device);
  if (kind == "convolution") return convolutionOf(name, object, device);
  if (kind == "launch") return launchOf(name, object);
  if (kind == "copy") {
    return std::make_unique<CopyCommand>(name, addressOf(objectOf(object.Get("from"))), addressOf(objectOf(object.Get("to"))),
                                         sizeOf(object.Get("bytes")));
  }
  if (kind == "fill") {
    const Napi::Value value = object.Get("value");
    const auto byte = static_cast<unsigned char>(value.IsUndefined() ? 0 : value.ToNumber().Uint32Value());
    return std::make_unique<FillCommand>(name, addressOf(objectOf(object.Get("at"))), sizeOf(object.Get("bytes")), byte);
  }
  if (kind == "exchange") return std::make_unique<ExchangeCommand>(name, sizeOf(object.Get("place")));
  if (kind == "join") return std::make_unique<JoinCommand>(name);
  throw Failure(FailureCode::System, {}, "kind: expected launch, product, convolution, copy, fill, exchange or join, got " + kind);
}

}  // namespace

GpuDefinition definitionOf(const Napi::Object& object, const Device& device) {
  GpuDefinition definition{object.Get("name").ToString(), sizeOf(object.Get("arenaBytes")), {}, {}};
  const auto slots = object.Get("slots").As<Napi::Array>();
  for (std::uint32_t i = 0; i < slots.Length(); ++i) definition.slotBytes.push_back(sizeOf(slots.Get(i)));
  const auto commands = object.Get("commands").As<Napi::Array>();
  for (std::uint32_t i = 0; i < commands.Length(); ++i) {
    const Napi::Object command = objectOf(commands.Get(i));
    const std::string name = command.Get("name").ToString();
    const std::optional<Failure> failure = failureOf([&] { definition.commands.push_back(commandOf(name, command, device)); });
    if (failure) throw Napi::Error::New(object.Env(), "program " + definition.name + ", command " + name + ": " + failure->detail);
  }
  return definition;
}

}  // namespace ringrun
