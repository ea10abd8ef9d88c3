#pragma once

#include <napi.h>

#include <functional>
#include <optional>

#include "base/failure.h"
#include "binding/held_arrays.h"

namespace ringrun {

// Promises that other threads settle. Keeps the event loop alive while one is pending. Everything except settle() belongs to
// the JavaScript thread.
class PromiseQueue {
 public:
  // Creates the value of a promise, on the JavaScript thread. Empty: undefined.
  using Value = std::function<Napi::Value(Napi::Env)>;

  struct Pending;

  // `awaitIdle` blocks until settle() is not called any more for what was started. It is called when the environment ends.
  PromiseQueue(Napi::Env env, const char* name, std::function<void()> awaitIdle);
  PromiseQueue(const PromiseQueue&) = delete;
  PromiseQueue& operator=(const PromiseQueue&) = delete;
  ~PromiseQueue();

  // A promise, which is settled once, with `pending`. Until then it keeps `holds`: typed arrays with their memory, objects, or a list
  // of both. One of them must be the object that owns this.
  Napi::Value start(Napi::Env env, const Napi::Value& holds, Pending*& pending);

  // May be called by any thread. Rejects with a failure.
  void settle(Pending* pending, std::optional<Failure> failure, Value value = {});

 private:
  struct Settled;
  static void endWithEnvironment(void* self);
  static void receive(Napi::Env env, Napi::Function, PromiseQueue* self, Settled* settled);
  using Events = Napi::TypedThreadSafeFunction<PromiseQueue, Settled, &PromiseQueue::receive>;

  Napi::Env env_;
  Events events_;
  std::function<void()> awaitIdle_;
  bool hasEnded_ = false;  // the environment
  std::size_t pending_ = 0;
};

// The error of a failure whose detail says all.
Napi::Error errorOf(Napi::Env env, const Failure& failure);

}  // namespace ringrun
