#include "binding/file_locks.h"

#include "base/failure.h"
#include "base/file_lock.h"

namespace ringrun {
namespace {

// Like the errors of node:fs, with `errno`.
void check(Napi::Env env, int error) {
  if (error == 0) return;
  Napi::Error failure = Napi::Error::New(env, describeSystemError("fcntl", error, "lock of a byte"));
  failure.Set("errno", Napi::Number::New(env, error));
  throw failure;
}

int fileOf(const Napi::CallbackInfo& info) { return info[0].ToNumber().Int32Value(); }
off_t byteOf(const Napi::CallbackInfo& info) { return static_cast<off_t>(info[1].ToNumber().Int64Value()); }

}  // namespace

Napi::Value tryLockByteOf(const Napi::CallbackInfo& info) {
  bool locked = false;
  check(info.Env(), tryLockByte(fileOf(info), byteOf(info), locked));
  return Napi::Boolean::New(info.Env(), locked);
}

void unlockByteOf(const Napi::CallbackInfo& info) { check(info.Env(), unlockByte(fileOf(info), byteOf(info))); }

Napi::Value isByteLockedElsewhereOf(const Napi::CallbackInfo& info) {
  bool locked = false;
  check(info.Env(), isByteLockedElsewhere(fileOf(info), byteOf(info), locked));
  return Napi::Boolean::New(info.Env(), locked);
}

}  // namespace ringrun
