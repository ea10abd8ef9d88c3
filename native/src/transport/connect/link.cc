#include "transport/connect/link.h"

#include <algorithm>

#include "base/failure.h"

namespace ringrun {
namespace {

// The lower rank first, so that both sides use the same name for the link.
std::string describeSilence(const Directory& directory, int peer) {
  const auto [one, other] = std::minmax({directory.rank(), peer});
  return "no answer for " + inSeconds(directory.silentPeerTimeout()) + " on the link " + directory.nameOf(one) + " ↔ " +
         directory.nameOf(other);
}

}  // namespace

std::string describeEnd(const std::string& call, int error, const std::string& about, const Directory& directory, int peer) {
  const bool isSilent = isSilence(error) && directory.socketTypeTo(peer) == SocketType::Tcp;
  return isSilent ? describeSilence(directory, peer) : describeSystemError(call, error, about);
}

std::string describeAltered(const std::string& kind, const Directory& directory, int peer) {
  const std::string at = describe(directory.endpointOf(peer), directory.socketTypeTo(peer));
  return "bytes of the encrypted " + kind + " connection between rank " + std::to_string(directory.rank()) + " and rank " +
         std::to_string(peer) + " (" + at + ") were changed in transit";
}

}  // namespace ringrun
