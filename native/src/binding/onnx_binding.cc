#include "binding/onnx_binding.h"

#include <string>
#include <utility>

#include "binding/elements.h"
#include "binding/onnx_session.h"
#include "binding/prepared_operation.h"

namespace ringrun {
namespace {

// The address of a typed array that has the size of a slot. Throws a TypeError otherwise.
void* addressOf(const Napi::Value& value, const ort::Slot& slot) {
  const bool isTypedArray = value.IsTypedArray();
  const ByteSpan given = isTypedArray ? bytesOf(value) : ByteSpan{nullptr, 0};
  if (isTypedArray && given.bytes == slot.bytes) return given.data;
  const std::string found = isTypedArray ? std::to_string(given.bytes) + " bytes" : "no typed array";
  throw Napi::TypeError::New(value.Env(), slot.name + ": expected a typed array of " + std::to_string(slot.bytes) + " bytes, got " + found);
}

// [array, …]
std::vector<ort::Span> spansOf(const Napi::Value& value) {
  std::vector<ort::Span> spans;
  if (!value.IsArray()) return spans;
  const auto arrays = value.As<Napi::Array>();
  for (std::uint32_t i = 0; i < arrays.Length(); ++i) {
    auto array = static_cast<Napi::Value>(arrays.Get(i)).As<Napi::Float32Array>();
    if (!array.IsTypedArray()) throw Napi::TypeError::New(value.Env(), "expected a typed array of a call, got another value");
    spans.push_back({array.Data(), array.ByteLength()});
  }
  return spans;
}

// [{ operations?, sends?, receives? }]: a call without operations calls JavaScript.
std::vector<GraphCalls::Call> callsOf(const Napi::Array& list) {
  std::vector<GraphCalls::Call> calls;
  for (std::uint32_t i = 0; i < list.Length(); ++i) {
    const auto object = static_cast<Napi::Value>(list.Get(i)).As<Napi::Object>();
    GraphCalls::Call call;
    const Napi::Value operations = object.Get("operations");
    call.isJavaScript = !operations.IsArray();
    if (!call.isJavaScript) {
      const auto given = operations.As<Napi::Array>();
      for (std::uint32_t j = 0; j < given.Length(); ++j) call.operations.push_back(operationOf(given.Get(j)));
    }
    call.sends = spansOf(object.Get("sends"));
    call.receives = spansOf(object.Get("receives"));
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace

Napi::Function OnnxBinding::define(Napi::Env env) {
  return DefineClass(env, "OnnxBinding",
                     {
                         InstanceMethod<&OnnxBinding::replace>("replace"),
                         InstanceMethod<&OnnxBinding::setCalls>("setCalls"),
                         InstanceMethod<&OnnxBinding::run>("run"),
                         InstanceMethod<&OnnxBinding::runSync>("runSync"),
                         InstanceMethod<&OnnxBinding::runEach>("runEach"),
                         InstanceMethod<&OnnxBinding::release>("release"),
                         InstanceAccessor<&OnnxBinding::waits>("waits"),
                     });
}

OnnxBinding::OnnxBinding(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<OnnxBinding>(info),
      session_(*OnnxSession::Unwrap(info[0].As<Napi::Object>())),
      sessionObject_(Napi::Persistent(info[0].As<Napi::Object>())),
      arrays_{std::vector<void*>(session_.inputs().size()), std::vector<void*>(session_.outputs().size())},
      held_(info.Env(), arrays_.inputs.size() + arrays_.outputs.size()) {
  auto waits = Napi::Float64Array::New(info.Env(), 2);
  waits_ = waits.Data();
  waitsArray_ = Napi::Persistent(waits.As<Napi::Object>());
  placeAll(info[1], session_.inputs(), 0);
  placeAll(info[2], session_.outputs(), arrays_.inputs.size());
}

void OnnxBinding::placeAll(const Napi::Value& value, const std::vector<ort::Slot>& slots, std::size_t firstSlot) {
  const auto arrays = value.As<Napi::Array>();
  if (arrays.Length() != slots.size()) {
    throw Napi::TypeError::New(value.Env(), "expected " + std::to_string(slots.size()) + " arrays, got " + std::to_string(arrays.Length()));
  }
  for (std::uint32_t i = 0; i < slots.size(); ++i) place(firstSlot + i, arrays.Get(i));
}

void OnnxBinding::place(std::size_t slot, const Napi::Value& array) {
  placeOf(arrays_, slot) = addressOf(array, slotAt(slot));
  held_.place(slot, array);
}

const ort::Slot& OnnxBinding::slotAt(std::size_t slot) const {
  const std::size_t inputs = session_.inputs().size();
  return slot < inputs ? session_.inputs()[slot] : session_.outputs().at(slot - inputs);
}

void*& OnnxBinding::placeOf(OnnxSession::Arrays& arrays, std::size_t slot) {
  const std::size_t inputs = arrays.inputs.size();
  return slot < inputs ? arrays.inputs[slot] : arrays.outputs.at(slot - inputs);
}

// (slot, array)
void OnnxBinding::replace(const Napi::CallbackInfo& info) { place(info[0].As<Napi::Number>().Uint32Value(), info[1]); }

// (calls)
void OnnxBinding::setCalls(const Napi::CallbackInfo& info) {
  const auto calls = info[0].As<Napi::Array>();
  calls_ = calls.Length() == 0 ? nullptr : std::make_shared<const std::vector<GraphCalls::Call>>(callsOf(calls));
  callsObject_ = Napi::Persistent(calls.As<Napi::Object>());
}

// (onCall?)
Napi::Value OnnxBinding::run(const Napi::CallbackInfo& info) {
  if (!calls_ && session_.runIfShort(info.Env(), arrays_)) return info.Env().Undefined();
  return session_.run(info.Env(), {Value(), held_.arraysToHold(info.Env()), {arrays_}, calls_, info[0], waits_});
}

void OnnxBinding::runSync(const Napi::CallbackInfo& info) {
  if (calls_) throw Napi::Error::New(info.Env(), "a graph with calls cannot run synchronously");
  session_.runSync(info.Env(), arrays_);
}

// (slots, arrays of each later run)
Napi::Value OnnxBinding::runEach(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::vector<OnnxSession::Arrays> arrays{arrays_};
  const auto slots = info[0].As<Napi::Array>();
  const auto later = info[1].As<Napi::Array>();
  for (std::uint32_t run = 0; run < later.Length(); ++run) {
    arrays.push_back(arrays.front());
    const auto own = static_cast<Napi::Value>(later.Get(run)).As<Napi::Array>();
    for (std::uint32_t i = 0; i < slots.Length(); ++i) {
      const auto slot = static_cast<Napi::Value>(slots.Get(i)).As<Napi::Number>().Uint32Value();
      placeOf(arrays.back(), slot) = addressOf(own.Get(i), slotAt(slot));
    }
  }
  const Napi::Array holds = Napi::Array::New(env, 2);
  holds.Set(0U, held_.arraysToHold(env));
  holds.Set(1U, later);
  return session_.run(env, {Value(), holds, std::move(arrays), calls_, env.Undefined(), waits_});
}

void OnnxBinding::release(const Napi::CallbackInfo& info) { held_.clear(info.Env()); }

Napi::Value OnnxBinding::waits(const Napi::CallbackInfo&) { return waitsArray_.Value(); }

}  // namespace ringrun
