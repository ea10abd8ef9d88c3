#pragma once

#include <napi.h>

#include "base/wait.h"
#include "collectives/group.h"

namespace ringrun {

// Cancels the group if this thread's JavaScript is terminated while an operation blocks it: by worker.terminate(), or by
// the main thread's process.exit(). Both wait for the thread, which would otherwise wait for other ranks.
class TerminationWatch : public WhileBlocked {
 public:
  TerminationWatch(Napi::Env env, Group& group) : env_(env), group_(group) {}

  // JavaScript no longer runs: it neither receives results nor catches errors.
  bool isTerminating() const { return isTerminating_; }

 private:
  void look() override;

  Napi::Env env_;
  Group& group_;
  bool isTerminating_ = false;
};

}  // namespace ringrun
