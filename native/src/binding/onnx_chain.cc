#include "binding/onnx_chain.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "binding/elements.h"
#include "binding/onnx_session.h"

namespace ringrun {
namespace {

// The places of a chain's values: arrays, and parts of one memory.
class Values {
 public:
  Values(const Napi::Array& arrays, const Napi::Value& memory) : memory_(bytesOf(memory)) {
    for (std::uint32_t i = 0; i < arrays.Length(); ++i) arrays_.push_back(bytesOf(arrays.Get(i)));
  }

  // `place`: the index of an array from 0 on, or -1 minus the offset in the memory, in bytes.
  void* at(Napi::Env env, double place, const ort::Slot& slot) const {
    if (place < 0) return inMemory(env, static_cast<std::size_t>(-1 - place), slot);
    const ByteSpan& array = arrays_.at(static_cast<std::size_t>(place));
    if (array.bytes == slot.bytes) return array.data;
    throw Napi::TypeError::New(env, slot.name + ": expected a typed array of " + std::to_string(slot.bytes) + " bytes, got " +
                                        std::to_string(array.bytes) + " bytes");
  }

 private:
  void* inMemory(Napi::Env env, std::size_t offset, const ort::Slot& slot) const {
    if (offset <= memory_.bytes && slot.bytes <= memory_.bytes - offset) return static_cast<std::uint8_t*>(memory_.data) + offset;
    throw Napi::RangeError::New(env, slot.name + ": " + std::to_string(slot.bytes) + " bytes at " + std::to_string(offset) +
                                         " are outside of the memory of " + std::to_string(memory_.bytes) + " bytes");
  }

  std::vector<ByteSpan> arrays_;
  ByteSpan memory_;
};

// (sessions, places, arrays, memory): `places` has, for each session, those of its inputs and then of its outputs.
std::vector<OnnxSession::Link> linksOf(const Napi::CallbackInfo& info) {
  const auto sessions = info[0].As<Napi::Array>();
  const auto places = info[1].As<Napi::Float64Array>();
  const Values values(info[2].As<Napi::Array>(), info[3]);
  std::vector<OnnxSession::Link> links;
  std::size_t next = 0;
  const auto addressesOf = [&](const std::vector<ort::Slot>& slots) {
    std::vector<void*> addresses;
    if (slots.size() > places.ElementLength() - next) throw Napi::RangeError::New(info.Env(), "a chain has fewer places than slots");
    for (const ort::Slot& slot : slots) addresses.push_back(values.at(info.Env(), places[next++], slot));
    return addresses;
  };
  for (std::uint32_t i = 0; i < sessions.Length(); ++i) {
    OnnxSession* const session = OnnxSession::Unwrap(sessions.Get(i).As<Napi::Object>());
    std::vector<void*> inputs = addressesOf(session->inputs());
    links.push_back({session, {std::move(inputs), addressesOf(session->outputs())}});
  }
  if (links.empty()) throw Napi::RangeError::New(info.Env(), "a chain has no session");
  return links;
}

}  // namespace

Napi::Value runOnnxChain(const Napi::CallbackInfo& info) {
  const Napi::Array holds = Napi::Array::New(info.Env(), 3);
  holds.Set(0U, info[0]);
  holds.Set(1U, info[2]);
  holds.Set(2U, info[3]);
  return OnnxSession::runChain(info.Env(), linksOf(info), holds);
}

void runOnnxChainSync(const Napi::CallbackInfo& info) { OnnxSession::runChainSync(info.Env(), linksOf(info)); }

}  // namespace ringrun
