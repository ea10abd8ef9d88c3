#pragma once

#include <functional>

#include "base/deadline.h"

namespace ringrun {

// Calls `act` on a separate thread and waits for at most `timeout`. Returns false if `act` has not returned; it
// then continues, so it must own everything that it uses. For library calls without a deadline. `act` must not
// throw.
bool runWithTimeout(Milliseconds timeout, std::function<void()> act);

}  // namespace ringrun
