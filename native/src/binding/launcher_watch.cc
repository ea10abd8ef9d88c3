#include "binding/launcher_watch.h"

#include <string>
#include <system_error>
#include <utility>

#include "base/launcher_watch.h"

namespace ringrun {

void watchLauncherOf(const Napi::CallbackInfo& info) {
  const Napi::Object given = info[0].As<Napi::Object>();
  const auto textOf = [&](const char* name) {
    const Napi::Value value = given.Get(name);
    return value.IsUndefined() ? std::string() : value.ToString().Utf8Value();
  };
  LauncherWatch watch;
  watch.descriptor = given.Get("descriptor").ToNumber().Int32Value();
  watch.launcherEnded = textOf("launcherEnded");
  watch.leaseExpired = textOf("leaseExpired");
  watch.folder = textOf("folder");
  watch.recordFile = textOf("recordFile");
  watch.record = textOf("record");
  try {
    watchLauncher(std::move(watch));
  } catch (const std::system_error& error) {
    throw Napi::Error::New(info.Env(), std::string("the system gives no thread: ") + error.what());
  }
}

}  // namespace ringrun
