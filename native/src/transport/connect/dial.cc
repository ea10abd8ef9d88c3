#include "transport/connect/dial.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "base/descriptors.h"
#include "base/failure.h"
#include "base/wait.h"
#include "base/wait_reports.h"
#include "transport/connect/address.h"
#include "transport/connect/unix_socket.h"

namespace ringrun {
namespace {

struct Attempt {
  UniqueFd fd;
  int error = 0;  // EINPROGRESS: still connecting. Without a descriptor: of socket()
};

Attempt startConnecting(const Directory& directory, int peer) {
  const SocketType socketType = directory.socketTypeTo(peer);
  const SocketAddress at = SocketAddress::of(directory.endpointOf(peer), socketType);
  Attempt attempt;
  attempt.fd = openSocket(at.family());
  if (!attempt.fd) {
    attempt.error = errno;
    return attempt;
  }
  prepareConnection(attempt.fd.get(), socketType, directory.silentPeerTimeout());
  attempt.error = ::connect(attempt.fd.get(), at.get(), at.length) == 0 ? 0 : errno;
  return attempt;
}

void awaitConnecting(Attempt& attempt, Milliseconds timeout) {
  pollfd interest{attempt.fd.get(), POLLOUT, 0};
  if (pollSockets(&interest, 1, timeout) == 0) return;
  socklen_t length = sizeof attempt.error;
  ::getsockopt(attempt.fd.get(), SOL_SOCKET, SO_ERROR, &attempt.error, &length);
}

// A host that one rank cannot reach is unreachable for all ranks on that rank's host: the first of them reports it.
void reportUnanswered(const Directory& directory, int peer, const std::string& where, const Call& call) {
  if (directory.localRanks().front() != directory.rank()) return;
  if (!call.reports.isDue(call.deadline, Clock::now() - call.deadline.since())) return;
  call.reports.write(directory.rank(), call, {{peer, "which does not answer at " + where}});
}

constexpr Milliseconds kFullBacklogPause{1};
constexpr Milliseconds kFirstPause{20};  // after an attempt that failed; doubled each time
constexpr Milliseconds kLongestPause{500};

// A new attempt sends its first segment at once, while the kernel retransmits that of an old one after pauses of up to a
// minute: so a recovered network is detected soon.
constexpr Milliseconds kAttemptTimeout{5000};

constexpr Milliseconds kRefusalGrace{5000};

// A wrong proof may come from a process on the path, or from another process at an address that was assigned again.
constexpr Milliseconds kWrongProofGrace{3000};

// ENOENT: the listener has deleted the file of its Unix socket.
bool isRefusal(int error) { return error == ECONNREFUSED || error == ENOENT; }

// Transient errors of the network, or of a host that is just starting.
bool mayPass(int error) {
  return isSilence(error) || error == EADDRNOTAVAIL || error == ECONNRESET || error == ECONNABORTED || error == EINTR ||
         error == ENETDOWN;
}

[[noreturn]] void throwRefused(int peer, int error, const std::string& where) {
  throw Failure(FailureCode::PeerDied, {{peer, {}}}, describeSystemError("connect", error, where));
}

[[noreturn]] void throwUntrusted(int peer, const std::string& problem) {
  throw Failure(FailureCode::Untrusted, {{peer, {}}}, problem);
}

}  // namespace

void throwIfTimedOutOrCancelled(const Call& call, int missing, const std::string& what) {
  if (call.cancelled.load(std::memory_order_relaxed)) {
    throw Failure(FailureCode::Closed, {}, "this process destroyed the group while the operation was running");
  }
  if (call.deadline.passed()) throw Failure(FailureCode::Timeout, {{missing, {}}}, what);
}

Dialling::Dialling(const Directory& directory, int peer, Purpose purpose, std::uint32_t lane)
    : directory_(directory),
      peer_(peer),
      socketType_(directory.socketTypeTo(peer)),
      where_(describe(directory.endpointOf(peer), socketType_)),
      pause_(kFirstPause) {
  hello_.purpose = purpose;
  hello_.protection = directory.authentication().protectionOf(socketType_);
  hello_.rank = static_cast<std::uint32_t>(directory.rank());
  hello_.listener = static_cast<std::uint32_t>(peer);
  hello_.lane = lane;
}

Link Dialling::advance(const Call& call) {
  if (state_ == State::Idle && Clock::now() >= next_) begin(call);
  if (state_ == State::Connecting) finishConnecting(call);
  if (state_ == State::AwaitingChallenge) return readChallenge();
  return {};
}

void Dialling::begin(const Call& call) {
  Attempt attempt = startConnecting(directory_, peer_);
  if (!attempt.fd) throwSystem("socket", attempt.error, "a connection to another rank");
  if (attempt.error == EAGAIN) {  // a Unix socket's backlog is full: the listener is about to accept
    reportUnanswered(directory_, peer_, where_, call);
    return again(kFullBacklogPause);
  }
  if (attempt.error != 0 && attempt.error != EINPROGRESS) return againAfter(attempt.error);
  fd_ = std::move(attempt.fd);
  begun_ = Clock::now();
  state_ = State::Connecting;
  if (attempt.error == 0) connected();
}

void Dialling::finishConnecting(const Call& call) {
  pollfd interest{fd_.get(), POLLOUT, 0};
  if (::poll(&interest, 1, 0) <= 0) {
    reportUnanswered(directory_, peer_, where_, call);
    if (Clock::now() - begun_ < kAttemptTimeout) return;
    return againAfter("connect (" + where_ + "): no answer within " + std::to_string(kAttemptTimeout.count() / 1000) + " s");
  }
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return againAfter(error);
  refusedSince_.reset();
  connected();
}

// A Hello always fits into the buffer of a new connection. A connection that broke meanwhile fails at its first use.
void Dialling::connected() {
  const std::string user = socketType_ == SocketType::Unix ? foreignUser(fd_.get()) : "";
  if (!user.empty()) {
    throwUntrusted(peer_, "the process at " + where_ + " belongs to " + user +
                              ". Run all ranks of a host as one user, or set RINGRUN_TRANSPORT=tcp");
  }
  // Nothing else detects that the host vanished before the peer answers on the first connection between the two.
  if (hello_.purpose == Purpose::Control) endWhenUnanswered(fd_.get(), socketType_, directory_.silentPeerTimeout());
  hello_.nonce = randomNonce();
  [[maybe_unused]] const ssize_t sent = ::send(fd_.get(), &hello_, sizeof hello_, kNoSignal);
  read_ = 0;
  state_ = State::AwaitingChallenge;
}

Link Dialling::readChallenge() {
  auto* const into = reinterpret_cast<std::uint8_t*>(&challenge_);
  while (read_ < sizeof challenge_) {
    const ssize_t got = ::recv(fd_.get(), into + read_, sizeof challenge_ - read_, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return {};
    if (got <= 0) {
      againAfter(got == 0 ? "the process at " + where_ + " closed the connection before it answered"
                          : describeSystemError("recv", errno, where_));
      return {};
    }
    read_ += static_cast<std::size_t>(got);
  }
  const Authentication& authentication = directory_.authentication();
  const Token& token = directory_.endpointOf(peer_).token;
  const bool isProven = authentication.isProof(challenge_.proof, Side::Listener, token, hello_, challenge_.nonce);
  const Proof own = isProven ? authentication.proofOf(Side::Dialler, token, hello_, challenge_.nonce) : kNoProof;
  [[maybe_unused]] const ssize_t sent = ::send(fd_.get(), own.data(), own.size(), kNoSignal);
  if (!isProven) {
    const std::string problem = "the process at " + where_ + " has another secret, or the connection was changed in transit";
    if (!unprovenSince_) unprovenSince_ = Clock::now();
    if (Clock::now() - *unprovenSince_ >= kWrongProofGrace) {
      throwUntrusted(peer_, problem + ". Set RINGRUN_SECRET, or --secret-file, to the same secret on every node");
    }
    againAfter(problem);
    return {};
  }
  if (hello_.protection == Protection::Authenticated) return Link(std::move(fd_));
  const auto keyOf = [&](Side side) { return authentication.keyOf(side, token, hello_, challenge_.nonce); };
  return Link(std::move(fd_), std::make_unique<RecordCipher>(keyOf(Side::Dialler), keyOf(Side::Listener)));
}

void Dialling::againAfter(int error) {
  const auto now = Clock::now();
  if (isRefusal(error)) {
    if (!refusedSince_) refusedSince_ = now;
    if (now - *refusedSince_ >= graceOfRefusal(directory_, peer_)) throwRefused(peer_, error, where_);
  } else {
    refusedSince_.reset();
    if (!mayPass(error)) throwRefused(peer_, error, where_);
  }
  againAfter(describeSystemError("connect", error, where_));
}

void Dialling::againAfter(std::string problem) {
  lastProblem_ = std::move(problem);
  again(pause_);
  pause_ = std::min(2 * pause_, kLongestPause);
}

void Dialling::again(Milliseconds pause) {
  fd_.reset();
  state_ = State::Idle;
  next_ = Clock::now() + pause;
}

void Dialling::addInterest(std::vector<pollfd>& interests) const {
  if (state_ == State::Connecting) interests.push_back({fd_.get(), POLLOUT, 0});
  if (state_ == State::AwaitingChallenge) interests.push_back({fd_.get(), POLLIN, 0});
}

Milliseconds Dialling::pauseWithin(Milliseconds most) const {
  if (state_ != State::Idle) return most;
  return std::clamp(std::chrono::ceil<Milliseconds>(next_ - Clock::now()), Milliseconds{0}, most);
}

// This kernel refuses connections to this host: the process has ended.
Milliseconds graceOfRefusal(const Directory& directory, int peer) {
  return directory.isOnThisMachine(peer) ? Milliseconds{0} : kRefusalGrace;
}

bool hasStoppedListening(const Directory& directory, int peer) {
  Attempt attempt = startConnecting(directory, peer);
  if (!attempt.fd) return false;  // unknown
  if (attempt.error == EINPROGRESS) awaitConnecting(attempt, Milliseconds{20});
  return isRefusal(attempt.error);
}

}  // namespace ringrun
