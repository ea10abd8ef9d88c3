#pragma once

#include <napi.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/failure.h"
#include "binding/held_arrays.h"
#include "binding/process_group.h"

namespace ringrun {

// A promise, with the operation's arrays and the group, which are kept until it settles.
struct ProcessGroup::Pending {
  Napi::Promise::Deferred deferred;
  HeldArrays arrays;
  std::vector<std::shared_ptr<const void>> owners;  // of memory that `arrays` does not hold
  Napi::ObjectReference group;
  bool detaches = false;
  std::optional<OperationFailure> failure;
  std::optional<int> sender;  // result of a receive

  // An ending environment releases all references itself.
  void leaveReferencesToEnvironment() {
    arrays.leaveToEnvironment();
    group.SuppressDestruct();
  }
};

}  // namespace ringrun
