#include "binding/describe_library.h"

namespace ringrun {

Napi::Object toJs(Napi::Env env, const LibraryDescription& library) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("path", library.path);
  object.Set("version", library.version);
  object.Set("problem", library.problem);
  Napi::Array attempts = Napi::Array::New(env);
  for (const Attempt& attempt : library.attempts) {
    Napi::Object one = Napi::Object::New(env);
    one.Set("place", attempt.place);
    one.Set("reason", attempt.reason);
    attempts.Set(attempts.Length(), one);
  }
  object.Set("attempts", attempts);
  return object;
}

}  // namespace ringrun
