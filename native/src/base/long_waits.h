#pragma once

#include <string>
#include <vector>

namespace ringrun {

// The operations of this process that have waited for longer than kLivenessInterval, for reports on request. Any thread may
// call these functions; a group calls them only when a long wait begins or ends.
namespace long_waits {

// Records that `owner` now waits in `operation` instead of its previous one. Empty: in none.
void set(const void* owner, const std::string& operation);

std::vector<std::string> all();

}  // namespace long_waits

}  // namespace ringrun
