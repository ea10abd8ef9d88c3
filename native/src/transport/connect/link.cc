#include "transport/connect/link.h"

#include <algorithm>

#include "base/failure.h"

namespace ringrun {
namespace {

// "rank 1 (host node1, 10.0.0.2)"
std::string nameOf(const Directory& directory, int rank) {
  const Endpoint& endpoint = directory.endpointOf(rank);
  const std::string host = endpoint.hostName.empty() ? "" : "host " + endpoint.hostName + ", ";
  return "rank " + std::to_string(rank) + " (" + host + endpoint.address + ")";
}

// "15 s", "1.5 s"
std::string inSeconds(Milliseconds time) {
  std::string text = std::to_string(time.count() / 1000);
  const auto rest = time.count() % 1000;
  if (rest != 0) {
    text += "." + std::to_string(1000 + rest).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + " s";
}

// The lower rank first, so that both sides use the same name for the link.
std::string describeSilence(const Directory& directory, int peer) {
  const auto [one, other] = std::minmax({directory.rank(), peer});
  return "no answer for " + inSeconds(directory.silentPeerTimeout()) + " on the link " + nameOf(directory, one) + " ↔ " +
         nameOf(directory, other);
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
