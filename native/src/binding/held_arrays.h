#pragma once

#include <napi.h>

#include <cstddef>
#include <functional>

namespace ringrun {

// Keeps the memory of the typed arrays of an asynchronous operation until destroyed, even if JavaScript transfers their
// ArrayBuffers meanwhile (postMessage, structuredClone) and the new owner drops them. A reference to an array is not enough:
// it keeps an array of length 0.
//
// The exception is ArrayBuffer.prototype.transfer with another length on Node 22 and 23, whose V8 reallocates memory that
// it allocated itself even if others hold it. A detach key of V8 would not prevent it: there, transfer ends the
// process. Node 24 copies the memory. TypeScript rejects arrays of resizable buffers.
//
// Belongs to the JavaScript thread.
class HeldArrays {
 public:
  using IsKept = std::function<bool(const void* data)>;

  // `arguments`: typed arrays, lists of them, and other objects, which are kept reachable. `isKept`: true for memory that
  // needs no hold.
  HeldArrays(const Napi::Value& arguments, const IsKept& isKept);
  HeldArrays(HeldArrays&&) = default;
  ~HeldArrays();

  // For an environment that is ending, which releases all references itself.
  void leaveToEnvironment();

 private:
  Napi::ObjectReference held_;
  std::size_t temporary_ = 0;  // elements of `held_` from 1 on: buffers to detach
  bool isLeft_ = false;
};

// A buffer of the memory of a typed array that keeps it as HeldArrays does, and exists as long as the array's own buffer.
// Null if nothing can hold its memory, or if it has none.
napi_value heldBuffer(napi_env env, napi_value array);

// Frees the memory of a buffer that is detached when no operation uses it. Otherwise the memory may remain until the buffer is
// collected.
void forgetBuffer(Napi::Env env, Napi::ArrayBuffer buffer);

}  // namespace ringrun
