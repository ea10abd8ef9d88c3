#include "base/dynamic_library.h"

#include <dlfcn.h>

namespace ringrun {

// RTLD_NOW: an unresolved symbol is an error here instead of a crash at its first call.
DynamicLibrary::DynamicLibrary(const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    handle_ = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      path_ = pathOfLibrary(handle_, candidate);
      attempts_.push_back({candidate, ""});
      return;
    }
    const char* const reason = ::dlerror();
    attempts_.push_back({candidate, reason == nullptr ? "no reason given" : reason});
  }
}

void* DynamicLibrary::find(const char* name) const { return handle_ == nullptr ? nullptr : ::dlsym(handle_, name); }

}  // namespace ringrun
