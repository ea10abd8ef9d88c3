#include "transport/connect/link.h"

namespace ringrun {

std::string describeAltered(const std::string& kind, const Directory& directory, int peer) {
  const std::string at = describe(directory.endpointOf(peer), directory.socketTypeTo(peer));
  return "bytes of the encrypted " + kind + " connection between rank " + std::to_string(directory.rank()) + " and rank " +
         std::to_string(peer) + " (" + at + ") were changed on the way";
}

}  // namespace ringrun
