#pragma once

#include <functional>

#include "base/deadline.h"

namespace ringrun {

// Calls what may never return on a thread of its own, and waits for its end, for `timeout` at most. False: it goes on by
// itself, so it must own all that it uses. For those calls of a library that have no deadline; must not throw.
bool endsWithin(Milliseconds timeout, std::function<void()> act);

}  // namespace ringrun
