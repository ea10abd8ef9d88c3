#pragma once

#include "base/unique_fd.h"

namespace ringrun {

// Wakes a thread that polls. ring() may be called by any thread.
class Bell {
 public:
  // Throws Failure.
  Bell();

  // Readable from the first ring() until clear().
  int fd() const { return out_.get(); }

  void ring() const noexcept;
  void clear() const noexcept;

 private:
  UniqueFd out_;
  UniqueFd in_;
};

}  // namespace ringrun
