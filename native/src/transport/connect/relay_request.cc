#include "transport/connect/relay_request.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/failure.h"
#include "transport/connect/connect_attempt.h"

namespace ringrun {
namespace {

Endpoint relayEndpointOf(const Endpoint& endpoint) {
  Endpoint at = endpoint;
  at.port = endpoint.relayPort;
  return at;
}

}  // namespace

std::string describeRelayProblems(const std::map<int, std::string>& problems) {
  std::string text;
  for (const auto& [relay, problem] : problems) {
    text += (text.empty() ? "through rank " : "; through rank ") + std::to_string(relay) + ": " + problem;
  }
  return text;
}

// Several relays can be tried before the peer counts as dead.
Milliseconds relayTimeout(Milliseconds silentPeerTimeout) {
  return std::clamp(silentPeerTimeout / 5, Milliseconds{200}, Milliseconds{3000});
}

bool isRefusal(int error) { return error == ECONNREFUSED || error == ENOENT; }

RelayRequest::RelayRequest(const Directory& directory, int relay, int peer)
    : directory_(directory),
      relay_(relay),
      peer_(peer),
      where_(describe(relayEndpointOf(directory.endpointOf(relay)), SocketType::Tcp)),
      until_(Clock::now() + relayTimeout(directory.silentPeerTimeout())) {
  const Endpoint at = relayEndpointOf(directory.endpointOf(relay));
  ConnectAttempt attempt = startConnecting(at, SocketType::Tcp, directory.silentPeerTimeout());
  if (!attempt.fd || (attempt.error != 0 && attempt.error != EINPROGRESS)) {
    problem_ = describeSystemError("connect", attempt.error, where_);
    return;
  }
  fd_ = std::move(attempt.fd);
}

RelayRequest::Progress RelayRequest::fail(std::string problem) {
  problem_ = std::move(problem);
  return Progress::Failed;
}

RelayRequest::Progress RelayRequest::advance() {
  if (!problem_.empty()) return Progress::Failed;
  if (state_ == State::Connecting) {
    const int error = resultOfConnecting(fd_.get());
    if (error == 0) {
      Hello hello;
      hello.purpose = Purpose::Relay;
      hello.rank = static_cast<std::uint32_t>(directory_.rank());
      hello.listener = static_cast<std::uint32_t>(relay_);
      hello.lane = static_cast<std::uint32_t>(peer_);
      handshake_.emplace(fd_.get(), hello, directory_.endpointOf(relay_).token, directory_.authentication());
      state_ = State::AwaitingChallenge;
      // The relay has as long to connect.
      until_ = Clock::now() + 2 * relayTimeout(directory_.silentPeerTimeout());
    } else if (error != EINPROGRESS) {
      return fail(describeSystemError("connect", error, where_));
    }
  }
  if (state_ == State::AwaitingChallenge) {
    const auto progress = handshake_->advance();
    if (progress == DialHandshake::Progress::Proven) {
      state_ = State::AwaitingAnswer;
    } else if (progress == DialHandshake::Progress::Unproven) {
      return fail("the process at " + where_ + " has another secret");
    } else if (progress == DialHandshake::Progress::Ended) {
      return fail("the process at " + where_ + " closed the connection before it answered");
    }
  }
  if (state_ == State::AwaitingAnswer) {
    const Progress progress = readAnswer();
    if (progress != Progress::Waiting) return progress;
  }
  if (Clock::now() >= until_) return fail("no answer from " + where_);
  return Progress::Waiting;
}

RelayRequest::Progress RelayRequest::readAnswer() {
  const int result = readRest(fd_.get(), &answer_, sizeof answer_, read_);
  if (result < 0 && wouldBlock(errno)) return Progress::Waiting;
  if (result <= 0) return fail("the process at " + where_ + " closed the connection before it answered");
  const int error = static_cast<int>(answer_.error);
  if (error == 0) return Progress::Connected;
  problem_ = describeSystemError("connect", error, "from there to " + describe(directory_.endpointOf(peer_), SocketType::Tcp));
  return isRefusal(error) ? Progress::Refused : Progress::Failed;
}

void RelayRequest::addInterest(std::vector<pollfd>& interests) const {
  if (fd_) interests.push_back({fd_.get(), static_cast<short>(state_ == State::Connecting ? POLLOUT : POLLIN), 0});
}

}  // namespace ringrun
