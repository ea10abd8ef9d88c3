#include "base/failure.h"

#include <system_error>

namespace ringrun {

std::string describeSystemError(const std::string& call, int error, const std::string& about) {
  return call + " (" + about + "): " + std::generic_category().message(error) + " (errno " + std::to_string(error) + ")";
}

void throwSystem(const std::string& call, int error, const std::string& about) {
  throw Failure(FailureCode::System, {}, describeSystemError(call, error, about));
}

}  // namespace ringrun
