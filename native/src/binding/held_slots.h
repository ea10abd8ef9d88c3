#pragma once

#include <napi.h>

#include <cstddef>
#include <vector>

namespace ringrun {

// Keeps the memory of the arrays of a session's slots, as HeldArrays does, for runs that mostly have the same arrays as the
// run before. Holds an array that stays in its slot once, as long as its buffer exists, instead of once for each run.
//
// Belongs to the JavaScript thread.
class HeldSlots {
 public:
  // What a run must keep reachable.
  struct Run {
    Run(Napi::Env env, std::size_t slots) : held(Napi::Array::New(env, slots)), added(Napi::Array::New(env)) {}

    Napi::Array held;   // by slot
    Napi::Array added;  // arrays that still need a hold
  };

  explicit HeldSlots(std::size_t count) : slots_(count) {}

  // Adds the array of a slot, whose elements are at `data`, to what `run` keeps.
  void hold(std::size_t slot, const Napi::Value& array, const void* data, Run& run);

 private:
  struct Slot {
    const void* data = nullptr;  // in the last run
    // The buffer that holds the memory, if the last runs had the same. Weak: it is kept by the array's own buffer. As long
    // as it exists, no other array is at this address.
    Napi::ObjectReference buffer;
  };

  std::vector<Slot> slots_;
};

}  // namespace ringrun
