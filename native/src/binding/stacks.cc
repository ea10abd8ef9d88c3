#include "binding/stacks.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "base/long_waits.h"

// A thread of the process requests the stack of the main thread while the main thread waits in a synchronous operation, where
// the inspector cannot interrupt it. The waiting thread checks for requests between sleeps.

namespace ringrun {
namespace {

std::atomic<bool> isRequested{false};
std::mutex mutex;
std::optional<std::string> captured;  // guarded by mutex

Napi::Value longWaits(const Napi::CallbackInfo& info) {
  Napi::Array result = Napi::Array::New(info.Env());
  for (const std::string& operation : long_waits::all()) result.Set(result.Length(), operation);
  return result;
}

// (isWanted): begins or ends a request.
void requestStack(const Napi::CallbackInfo& info) {
  const std::lock_guard lock(mutex);
  captured.reset();
  isRequested.store(info[0].ToBoolean());
}

// The captured stack, or undefined.
Napi::Value takeStack(const Napi::CallbackInfo& info) {
  const std::lock_guard lock(mutex);
  if (!captured) return info.Env().Undefined();
  return Napi::String::New(info.Env(), *captured);
}

}  // namespace

void captureRequestedStack(Napi::Env env) {
  if (!isRequested.exchange(false)) return;
  const Napi::HandleScope scope(env);
  const Napi::Value stack = Napi::Error::New(env, "").Value().Get("stack");
  const std::lock_guard lock(mutex);
  captured = stack.IsString() ? stack.As<Napi::String>().Utf8Value() : "";
}

void defineStacks(Napi::Env env, Napi::Object exports) {
  exports.Set("longWaits", Napi::Function::New<longWaits>(env, "longWaits"));
  exports.Set("requestStack", Napi::Function::New<requestStack>(env, "requestStack"));
  exports.Set("takeStack", Napi::Function::New<takeStack>(env, "takeStack"));
}

}  // namespace ringrun
