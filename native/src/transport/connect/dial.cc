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
#include "base/write_line.h"
#include "transport/connect/connect_attempt.h"
#include "transport/connect/unix_socket.h"

namespace ringrun {
namespace {

void awaitConnecting(ConnectAttempt& attempt, Milliseconds timeout) {
  pollfd interest{attempt.fd.get(), POLLOUT, 0};
  if (pollSockets(&interest, 1, timeout) == 0) return;
  attempt.error = resultOfConnecting(attempt.fd.get());
}

ConnectAttempt startConnecting(const Directory& directory, int peer) {
  return startConnecting(directory.endpointOf(peer), directory.socketTypeTo(peer), directory.silentPeerTimeout());
}

// A host that one rank cannot reach is unreachable for all ranks on that rank's host: the first of them reports it.
void reportUnanswered(const Directory& directory, int peer, const std::string& where, const Call* call) {
  if (call == nullptr || directory.localRanks().front() != directory.rank()) return;
  if (!call->reports.isDue(call->deadline, Clock::now() - call->deadline.since())) return;
  call->reports.write(directory.rank(), *call, {{peer, "which does not answer at " + where}});
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

// For direct attempts before a relay is asked: a network that is just starting gets some time.
constexpr Milliseconds kMostDirect{5000};

// A stream is resumed after its connection has been silent for some seconds.
Milliseconds directTimeOf(const Directory& directory, bool isResuming) {
  const Milliseconds silence = directory.silentPeerTimeout();
  return isResuming ? silence / 6 : std::min(kMostDirect, silence / 3);
}

// A route or a firewall of this host forbids the connection.
bool isForbiddenHere(int error) { return error == EINVAL || error == EACCES || error == EPERM; }

// Transient errors of the network, or of a host that is just starting.
bool mayPass(int error) {
  return isSilence(error) || error == EADDRNOTAVAIL || error == ECONNRESET || error == ECONNABORTED || error == EINTR ||
         error == ENETDOWN;
}

[[noreturn]] void throwDied(int peer, const std::string& problem) {
  throw Failure(FailureCode::PeerDied, {{peer, {}}}, problem);
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

Dialling::Dialling(const Directory& directory, int peer, Purpose purpose, std::uint32_t lane, std::shared_ptr<ByteStream> resumed)
    : directory_(directory),
      peer_(peer),
      socketType_(directory.socketTypeTo(peer)),
      where_(describe(directory.endpointOf(peer), socketType_)),
      pause_(kFirstPause),
      route_(directTimeOf(directory, resumed != nullptr)),
      resumed_(std::move(resumed)) {
  hello_.purpose = purpose;
  hello_.protection = directory.authentication().protectionOf(socketType_);
  hello_.rank = static_cast<std::uint32_t>(directory.rank());
  hello_.listener = static_cast<std::uint32_t>(peer);
  hello_.lane = lane;
  if (directory.detours().relayTo(peer)) route_.beginWithRelays();
}

Link Dialling::advance(const Call& call) { return advance(&call); }

bool Dialling::advanceResuming() {
  advance(nullptr);
  return isDone_;
}

Link Dialling::advance(const Call* call) {
  if (state_ == State::Idle && Clock::now() >= next_) begin(call);
  if (state_ == State::Connecting) finishConnecting(call);
  if (state_ == State::AskingRelay) askRelay();
  if (state_ == State::AwaitingChallenge) readChallenge();
  if (state_ == State::AwaitingContinuation) readContinuation();
  return isDone_ && fd_ ? finish() : Link();
}

void Dialling::begin(const Call* call) {
  relay_ = route_.next(Clock::now(), directory_.detours().relaysTo(peer_));
  if (!relay_) return beginDirectly(call);
  request_.emplace(directory_, *relay_, peer_);
  state_ = State::AskingRelay;
}

void Dialling::beginDirectly(const Call* call) {
  ConnectAttempt attempt = startConnecting(directory_, peer_);
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

Milliseconds Dialling::attemptTimeout() const {
  const bool hasRelays = directory_.detours().hasRelaysTo(peer_);
  return hasRelays ? std::min(kAttemptTimeout, directTimeOf(directory_, resumed_ != nullptr)) : kAttemptTimeout;
}

void Dialling::finishConnecting(const Call* call) {
  const int error = resultOfConnecting(fd_.get());
  if (error == EINPROGRESS) {
    reportUnanswered(directory_, peer_, where_, call);
    const Milliseconds timeout = attemptTimeout();
    if (Clock::now() - begun_ < timeout) return;
    return againAfter("connect (" + where_ + "): no answer within " + inSeconds(timeout));
  }
  if (error != 0) return againAfter(error);
  refusedSince_.reset();
  connected();
}

void Dialling::askRelay() {
  const auto progress = request_->advance();
  if (progress == RelayRequest::Progress::Waiting) return;
  if (progress == RelayRequest::Progress::Connected) {
    fd_ = request_->takeConnection();
    request_.reset();
    return connected();
  }
  const std::string problem = request_->problem();
  // The connection of a running process that refuses new ones has ended before.
  if (progress == RelayRequest::Progress::Refused) {
    if (!refusedSince_) refusedSince_ = Clock::now();
    if (resumed_ || Clock::now() - *refusedSince_ >= kRefusalGrace) throwDied(peer_, problem);
  }
  againAfterRelay(problem);
}

void Dialling::connected() {
  const std::string user = socketType_ == SocketType::Unix ? foreignUser(fd_.get()) : "";
  if (!user.empty()) {
    throwUntrusted(peer_, "the process at " + where_ + " belongs to " + user +
                              ". Run all ranks of a host as one user, or set RINGRUN_TRANSPORT=tcp");
  }
  // Nothing else detects that the host vanished before the peer answers on the first connection between the two.
  if (hello_.purpose == Purpose::Control) endWhenUnanswered(fd_.get(), socketType_, directory_.silentPeerTimeout());
  hello_.magic = relay_ || resumed_ ? kContinuedMagic : kHelloMagic;
  handshake_.emplace(fd_.get(), hello_, directory_.endpointOf(peer_).token, directory_.authentication());
  state_ = State::AwaitingChallenge;
}

void Dialling::readChallenge() {
  switch (handshake_->advance()) {
    case DialHandshake::Progress::Waiting: return;
    case DialHandshake::Progress::Ended: {
      const int error = handshake_->error();
      return againAfter(error == 0 ? "the process at " + where_ + " closed the connection before it answered"
                                   : describeSystemError("recv", error, where_));
    }
    case DialHandshake::Progress::Unproven: {
      const std::string problem = "the process at " + where_ + " has another secret, or the connection was changed in transit";
      if (!unprovenSince_) unprovenSince_ = Clock::now();
      if (Clock::now() - *unprovenSince_ >= kWrongProofGrace) {
        throwUntrusted(peer_, problem + ". Set RINGRUN_SECRET, or --secret-file, to the same secret on every node");
      }
      return againAfter(problem);
    }
    case DialHandshake::Progress::Proven: break;
  }
  if (hello_.magic == kContinuedMagic) return sendContinuation();
  isDone_ = true;
}

void Dialling::sendContinuation() {
  Continuation own;
  own.kind = resumed_ ? Continuation::Kind::Resumed : Continuation::Kind::New;
  own.received = resumed_ ? resumed_->lose() : 0;
  own.relay = relay_ ? static_cast<std::uint32_t>(*relay_) + 1 : 0;
  [[maybe_unused]] const ssize_t sent = ::send(fd_.get(), &own, sizeof own, kNoSignal);
  read_ = 0;
  state_ = State::AwaitingContinuation;
}

void Dialling::readContinuation() {
  const int result = readRest(fd_.get(), &continuation_, sizeof continuation_, read_);
  if (result < 0 && wouldBlock(errno)) return;
  if (result <= 0) return againAfter("the process at " + where_ + " closed the connection before it answered");
  isDone_ = true;
}

Link Dialling::finish() {
  Detours& detours = directory_.detours();
  detours.follow(relay_, peer_, problemOf(detours.relayTo(peer_)));
  if (resumed_) {
    const bool isKnown = continuation_.kind == Continuation::Kind::Resumed;
    if (!isKnown || !resumed_->resume(std::move(fd_), continuation_.received, relay_)) {
      throwDied(peer_, "bytes of a connection that broke are lost");
    }
    return {};
  }
  auto stream = std::make_shared<ByteStream>(std::move(fd_));
  stream->setRelay(relay_);
  detours.add({peer_, hello_.purpose, hello_.lane, true}, stream);
  return Link(std::move(stream), handshake_->cipher());
}

void Dialling::againAfter(int error) {
  const auto now = Clock::now();
  const std::string problem = describeSystemError("connect", error, where_);
  if (isRefusal(error)) {
    if (!refusedSince_) refusedSince_ = now;
    if (resumed_ || now - *refusedSince_ >= graceOfRefusal(directory_, peer_)) throwDied(peer_, problem);
  } else {
    const bool hasRelays = directory_.detours().hasRelaysTo(peer_);
    if (!hasRelays) refusedSince_.reset();
    if (isForbiddenHere(error) && hasRelays && !route_.hasTriedAll()) {
      route_.endDirect();
    } else if (!mayPass(error)) {
      lastProblem_ = problem;
      throwDied(peer_, lastProblem());
    }
  }
  againAfter(problem);
}

void Dialling::againAfter(std::string problem) {
  if (relay_) return againAfterRelay(std::move(problem));
  lastProblem_ = std::move(problem);
  again(pause_);
  pause_ = std::min(2 * pause_, kLongestPause);
}

// The next relay is tried at once.
void Dialling::againAfterRelay(std::string problem) {
  relayProblems_[*relay_] = std::move(problem);
  request_.reset();
  again(Milliseconds{0});
}

void Dialling::again(Milliseconds pause) {
  fd_.reset();
  state_ = State::Idle;
  next_ = Clock::now() + pause;
}

std::string Dialling::problemOf(const std::optional<int>& way) const {
  if (!way) return lastProblem_;
  const auto problem = relayProblems_.find(*way);
  return problem == relayProblems_.end() ? "" : problem->second;
}

// "connect (10.0.0.1:4711): No route to host (errno 113); through rank 1: no answer from 10.0.0.2:4712"
std::string Dialling::lastProblem() const {
  const std::string relays = describeRelayProblems(relayProblems_);
  return lastProblem_ + (lastProblem_.empty() || relays.empty() ? "" : "; ") + relays;
}

void Dialling::addInterest(std::vector<pollfd>& interests) const {
  if (state_ == State::Connecting) interests.push_back({fd_.get(), POLLOUT, 0});
  if (state_ == State::AskingRelay) request_->addInterest(interests);
  if (isAccepted()) interests.push_back({fd_.get(), POLLIN, 0});
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
  ConnectAttempt attempt = startConnecting(directory, peer);
  if (!attempt.fd) return false;  // unknown
  if (attempt.error == EINPROGRESS) awaitConnecting(attempt, Milliseconds{20});
  return isRefusal(attempt.error);
}

}  // namespace ringrun
