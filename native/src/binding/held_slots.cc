#include "binding/held_slots.h"

#include <algorithm>

#include "binding/held_arrays.h"

namespace ringrun {

HeldSlots::HeldSlots(Napi::Env env, std::size_t slots)
    : kept_(Napi::Persistent(Napi::Array::New(env, slots).As<Napi::Object>())), states_(slots, State::Held) {}

void HeldSlots::place(std::size_t slot, const Napi::Value& array) {
  kept_.Set(static_cast<std::uint32_t>(slot), array);
  if (states_[slot] == State::Held) notHeld_.push_back(slot);
  states_[slot] = State::Placed;
}

void HeldSlots::clear(Napi::Env env) { kept_.Reset(Napi::Array::New(env, states_.size()).As<Napi::Object>(), 1); }

Napi::Value HeldSlots::arraysToHold(Napi::Env env) {
  if (notHeld_.empty()) return env.Undefined();
  Napi::Array arrays = Napi::Array::New(env);
  const auto isHeld = [&](std::size_t slot) {
    if (hold(env, slot)) return true;
    arrays.Set(arrays.Length(), kept_.Get(static_cast<std::uint32_t>(slot)));
    return false;
  };
  notHeld_.erase(std::remove_if(notHeld_.begin(), notHeld_.end(), isHeld), notHeld_.end());
  return arrays;
}

// An array that is used once is held only by its run, because a buffer that holds it counts as more memory to V8.
bool HeldSlots::hold(Napi::Env env, std::size_t slot) {
  if (states_[slot] == State::Placed) {
    states_[slot] = State::UsedOnce;
    return false;
  }
  napi_value const buffer = heldBuffer(env, kept_.Get(static_cast<std::uint32_t>(slot)));
  if (buffer != nullptr) kept_.Set(static_cast<std::uint32_t>(slot), Napi::Value(env, buffer));
  states_[slot] = State::Held;
  return true;
}

}  // namespace ringrun
