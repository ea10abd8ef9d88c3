#include "binding/termination_watch.h"

#include "binding/stacks.h"

namespace ringrun {

// V8 ends every script of a terminated thread. Node-API offers no other way to detect it.
void TerminationWatch::look() {
  const Napi::HandleScope scope(env_);
  napi_value script = nullptr;
  napi_value result = nullptr;
  if (napi_create_string_utf8(env_, "0", 1, &script) == napi_ok && napi_run_script(env_, script, &result) == napi_ok) {
    return captureRequestedStack(env_);
  }
  isTerminating_ = true;
  group_.cancel();
}

}  // namespace ringrun
