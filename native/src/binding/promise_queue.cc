#include "binding/promise_queue.h"

#include <memory>
#include <utility>

namespace ringrun {

struct PromiseQueue::Pending {
  Napi::Promise::Deferred deferred;
  HeldArrays held;
};

struct PromiseQueue::Settled {
  Pending* pending;
  std::optional<Failure> failure;
  Value value;
};

PromiseQueue::PromiseQueue(Napi::Env env, const char* name, std::function<void()> awaitIdle)
    : env_(env), events_(Events::New(env, name, 0, 1, this)), awaitIdle_(std::move(awaitIdle)) {
  events_.Unref(env);
  napi_add_env_cleanup_hook(env, &PromiseQueue::endWithEnvironment, this);
}

// Nothing is pending, because pending promises keep the owner of this.
PromiseQueue::~PromiseQueue() {
  if (hasEnded_) return;
  napi_remove_env_cleanup_hook(env_, &PromiseQueue::endWithEnvironment, this);
  events_.Release();
}

// Runs before the environment ends the events, because it was added after them.
void PromiseQueue::endWithEnvironment(void* self) {
  auto& queue = *static_cast<PromiseQueue*>(self);
  queue.awaitIdle_();
  queue.hasEnded_ = true;
}

Napi::Value PromiseQueue::start(Napi::Env env, const Napi::Value& holds, Pending*& pending) {
  const auto needsNoHold = [](const void*) { return false; };
  // The JavaScript thread takes it back in receive(). If that thread is ending, it leaks, because references to JavaScript values
  // must not be released on another one.
  auto made = std::make_unique<Pending>(Pending{Napi::Promise::Deferred::New(env), HeldArrays(holds, needsNoHold)});
  const Napi::Value promise = made->deferred.Promise();
  pending = made.release();
  if (pending_++ == 0) events_.Ref(env);
  return promise;
}

void PromiseQueue::settle(Pending* pending, std::optional<Failure> failure, Value value) {
  auto settled = std::make_unique<Settled>(Settled{pending, std::move(failure), std::move(value)});
  if (events_.NonBlockingCall(settled.get()) == napi_ok) static_cast<void>(settled.release());
}

// `env` is empty if the environment is ending: promises can no longer settle.
void PromiseQueue::receive(Napi::Env env, Napi::Function, PromiseQueue* self, Settled* given) {
  const std::unique_ptr<Settled> settled(given);
  const std::unique_ptr<Pending> pending(settled->pending);
  if (env == nullptr) return pending->held.leaveToEnvironment();
  if (--self->pending_ == 0) self->events_.Unref(env);
  if (settled->failure) return pending->deferred.Reject(errorOf(env, *settled->failure).Value());
  pending->deferred.Resolve(settled->value ? settled->value(env) : env.Undefined());
}

Napi::Error errorOf(Napi::Env env, const Failure& failure) { return Napi::Error::New(env, failure.detail); }

}  // namespace ringrun
