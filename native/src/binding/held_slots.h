#pragma once

#include <napi.h>

#include <cstddef>
#include <vector>

namespace ringrun {

// Keeps the memory of the arrays of a binding's slots, as HeldArrays does, for runs that mostly have the same arrays as the
// run before: an array that stays in its slot costs nothing from its third run on.
//
// Belongs to the JavaScript thread.
class HeldSlots {
 public:
  HeldSlots(Napi::Env env, std::size_t slots);

  // Puts an array into a slot. It is reachable until it is replaced, or until this is destroyed.
  void place(std::size_t slot, const Napi::Value& array);

  // Releases all arrays. No run may be pending.
  void clear(Napi::Env env);

  // Call it at the start of each run: the arrays whose memory the run must hold itself; undefined if none.
  Napi::Value arraysToHold(Napi::Env env);

 private:
  enum class State { Placed, UsedOnce, Held };

  bool hold(Napi::Env env, std::size_t slot);

  // By slot, the object that is kept reachable: the array, or the buffer that holds its memory.
  Napi::ObjectReference kept_;
  std::vector<State> states_;
  std::vector<std::size_t> notHeld_;  // slots
};

}  // namespace ringrun
