#pragma once

#include "base/unique_fd.h"

namespace ringrun {

// Wakes a thread that polls, through a pipe. notify() may be called by any thread.
class Notifier {
 public:
  // Throws Failure.
  Notifier();

  // Readable after notify(), until clear().
  int fd() const { return out_.get(); }

  void notify() const noexcept;
  void clear() const noexcept;

 private:
  UniqueFd out_;
  UniqueFd in_;
};

}  // namespace ringrun
