#include "binding/held_slots.h"

#include "binding/held_arrays.h"

namespace ringrun {

void HeldSlots::hold(std::size_t position, const Napi::Value& array, const void* data, Run& run) {
  Slot& slot = slots_[position];
  const bool isSame = slot.data == data;
  if (!isSame) {
    slot.data = data;
    slot.buffer.Reset();
  }
  napi_value buffer = slot.buffer.IsEmpty() ? Napi::Value() : slot.buffer.Value();
  if (buffer == nullptr && isSame) {
    buffer = heldBuffer(array.Env(), array);
    if (buffer != nullptr) slot.buffer = Napi::Weak(Napi::Object(array.Env(), buffer));
  }
  if (buffer == nullptr) run.added.Set(run.added.Length(), array);
  else run.held.Set(static_cast<std::uint32_t>(position), buffer);
}

}  // namespace ringrun
