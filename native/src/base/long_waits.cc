#include "base/long_waits.h"

#include <map>
#include <mutex>

namespace ringrun {
namespace {

std::mutex mutex;

// Never destroyed, because threads may use it while the process ends.
std::map<const void*, std::string>& operations() {
  static auto* const all = new std::map<const void*, std::string>();
  return *all;
}

}  // namespace

void long_waits::set(const void* owner, const std::string& operation) {
  const std::lock_guard lock(mutex);
  if (operation.empty()) {
    operations().erase(owner);
  } else {
    operations()[owner] = operation;
  }
}

std::vector<std::string> long_waits::all() {
  const std::lock_guard lock(mutex);
  std::vector<std::string> all;
  for (const auto& [_, operation] : operations()) all.push_back(operation);
  return all;
}

}  // namespace ringrun
