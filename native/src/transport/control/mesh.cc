#include "transport/control/mesh.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "base/descriptors.h"
#include "base/long_waits.h"
#include "base/wait.h"
#include "transport/connect/dial.h"
#include "transport/control/messages.h"
#include "transport/control/whole_operation.h"

namespace ringrun {
namespace {

// Interval at which a rank that waits for connections checks that the missing ranks still listen.
constexpr Milliseconds kProbeInterval{500};

// Time in which the ranks of a group that cannot be formed exchange which ranks died.
constexpr Milliseconds kSettleTimeout{300};

// Interval at which a rank that waits asks the kernel if its peers answer.
constexpr Milliseconds kSilenceInterval{200};

// A rank that never waits reads its control connections at this interval, so that their buffers do not fill. It looks at
// the clock after this number of operations only, because reading it takes a tenth of a short operation.
constexpr Milliseconds kReceiveInterval{1000};
constexpr std::uint64_t kOperationsPerLook = 16;

}  // namespace

ControlMesh::ControlMesh(const Directory& directory)
    : directory_(directory), reconnector_(directory), rank_(directory.rank()) {
  for (int rank = 0; rank < directory.size(); ++rank) peers_.emplace_back(rank);
  directory.detours().setDelays([this](int rank) { return roundTripTo(rank); });
}

ControlMesh::~ControlMesh() {
  directory_.detours().setDelays({});
  long_waits::set(this, "");
  long_waits::set(&peers_, "");
}

void ControlMesh::connect(Acceptor& acceptor, const Call& call) {
  acceptor_ = &acceptor;
  std::map<int, Dialling> dialled;
  for (int peer = 0; peer < rank_; ++peer) dialled.try_emplace(peer, directory_, peer, Purpose::Control);
  std::map<int, Clock::time_point> refusedSince;
  auto nextProbe = Clock::now() + kProbeInterval;
  for (;;) {
    for (auto one = dialled.begin(); one != dialled.end();) {
      Link link = one->second.advance(call);
      const int peer = one->first;
      one = link ? dialled.erase(one) : std::next(one);
      if (link) addPeer(peer, std::move(link));
    }
    acceptPeers();
    const std::vector<InvolvedRank> missing = notConnected();
    if (missing.empty()) return;

    receive();
    throwIfFailedBy(call.fingerprint.sequence);
    for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
      if (hasEnded(peer)) throw endFailure(peer);
    }
    if (Clock::now() >= nextProbe) {
      for (const auto& one : missing) {
        if (!hasStoppedListening(directory_, one.rank)) {
          refusedSince.erase(one.rank);
        } else if (Clock::now() - refusedSince.try_emplace(one.rank, Clock::now()).first->second >=
                   graceOfRefusal(directory_, one.rank)) {
          throw Failure(FailureCode::PeerDied, {one}, "it exited before it connected");
        }
      }
      nextProbe = Clock::now() + kProbeInterval;
    }
    const auto waited = Clock::now() - call.deadline.since();
    if (waited >= kLivenessInterval) sendStatus(call.fingerprint);
    reportWait(call, waited, [this] { return notConnected(); });
    if (call.deadline.passed()) {
      const auto problem = std::find_if(dialled.begin(), dialled.end(), [](const auto& one) { return !one.second.lastProblem().empty(); });
      const int named = problem == dialled.end() ? missing.front().rank : problem->first;
      const std::string why = problem == dialled.end() ? "" : "; " + problem->second.lastProblem();
      throw Failure(FailureCode::Timeout, {{named, {}}}, "it did not connect" + why);
    }
    throwIfTimedOutOrCancelled(call, missing.front().rank, "it did not connect");

    std::vector<pollfd> interests;
    addInterests(interests, true);
    Milliseconds pause = call.deadline.leftWithin(kLivenessInterval);
    for (const auto& [_, one] : dialled) {
      one.addInterest(interests);
      pause = one.pauseWithin(pause);
    }
    pollSockets(interests.data(), interests.size(), pause);
  }
}

// Connections of the ranks above this one, which dial.
void ControlMesh::acceptPeers() {
  acceptor_->advance();
  for (int peer = rank_ + 1; peer < static_cast<int>(peers_.size()); ++peer) {
    if (peers_[peer].state != ControlPeer::State::NotConnected) continue;
    if (Link link = acceptor_->take(Purpose::Control, peer)) addPeer(peer, std::move(link));
  }
}

void ControlMesh::settle() {
  const Deadline timeout = Deadline::after(static_cast<double>(kSettleTimeout.count()));
  while (!timeout.passed()) {
    acceptPeers();
    receive();
    std::vector<pollfd> interests;
    addInterests(interests, true);
    pollSockets(interests.data(), interests.size(), timeout.leftWithin(kSettleTimeout));
  }
}

std::vector<InvolvedRank> ControlMesh::notConnected() const {
  std::vector<InvolvedRank> missing;
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    if (peer != rank_ && peers_[peer].state == ControlPeer::State::NotConnected) missing.push_back({peer, {}});
  }
  return missing;
}

// Control messages are few enough to always fit into the window, even if the peer does not read.
void ControlMesh::addPeer(int peer, Link link) {
  endWhenUnanswered(link.fd(), directory_.socketTypeTo(peer), directory_.silentPeerTimeout());
  peers_[peer].link = std::move(link);
  peers_[peer].state = ControlPeer::State::Connected;
}

void ControlMesh::addInterests(std::vector<pollfd>& interests, bool isAwaiting) const {
  for (const auto& peer : peers_) {
    if (peer.state == ControlPeer::State::Connected) interests.push_back({peer.link.fd(), POLLIN, 0});
  }
  reconnector_.addInterests(interests);
  if (acceptor_ != nullptr && (isAwaiting || acceptor_->isDue())) acceptor_->addInterests(interests);
}

void ControlMesh::receive() {
  lastReceived_ = Clock::now();
  std::vector<pollfd> interests;
  addInterests(interests);
  const bool isReady = !interests.empty() && ::poll(interests.data(), interests.size(), 0) > 0;
  std::size_t next = 0;
  for (int peer = 0; isReady && peer < static_cast<int>(peers_.size()); ++peer) {
    if (peers_[peer].state == ControlPeer::State::Connected && interests[next++].revents != 0) peers_[peer].receive(directory_);
  }
  reconnect();
  if (lastReceived_ >= nextSilenceCheck_) {
    for (auto& peer : peers_) peer.endIfSilent(directory_, reconnector_, lastReceived_);
    nextSilenceCheck_ = lastReceived_ + kSilenceInterval;
  }
  if (acceptor_ == nullptr) return;
  const auto isAny = [](const pollfd& interest) { return interest.revents != 0; };
  const auto first = interests.begin() + static_cast<std::ptrdiff_t>(next);
  if (acceptor_->hasStrangers() || (isReady && std::any_of(first, interests.end(), isAny))) acceptor_->advanceIfDue();
}

// Messages that arrived on a connection before it was given up wait in its stream.
void ControlMesh::reconnect() {
  for (const auto& ended : reconnector_.advance()) peers_[ended.peer].end(ended.failure);
  for (auto& peer : peers_) {
    if (peer.link.hasArrived()) peer.receive(directory_);
    if (peer.link.isLost()) endIfRelaysEnded(peer);
    if (peer.hasEnded()) reconnector_.end(peer.rank);
  }
}

// The peer runs, but the death of its last relay is why this rank no longer reaches it.
void ControlMesh::endIfRelaysEnded(ControlPeer& peer) {
  const auto used = directory_.detours().relayTo(peer.rank);
  if (!used || !hasEnded(*used)) return;
  const std::vector<int> relays = directory_.detours().relaysTo(peer.rank);
  const bool haveEnded = std::all_of(relays.begin(), relays.end(), [this](int relay) { return hasEnded(relay); });
  if (haveEnded) peer.end(endFailure(*used));
}

std::optional<std::chrono::microseconds> ControlMesh::roundTripTo(int peer) const {
  const Link& link = peers_[peer].link;
  return link ? roundTripOf(link.fd(), directory_.socketTypeTo(peer)) : std::nullopt;
}

void ControlMesh::sendStatus(const Fingerprint& fingerprint) noexcept {
  if (lastStatusSequence_ == fingerprint.sequence && !owesStatus_) return;
  if (lastStatusSequence_ != fingerprint.sequence) long_waits::set(this, describe(wholeOf(fingerprint)));
  lastStatusSequence_ = fingerprint.sequence;
  owesStatus_ = false;
  const std::vector<std::uint8_t> message = encodeMessage(ControlType::Status, bytesOf(wholeOf(fingerprint)));
  for (auto& peer : peers_) {
    if (!peer.link || peer.statusSequence == fingerprint.sequence) continue;
    if (peer.unread + 2 > kMaxUnreadMessages) {  // STATUS and its OUTSIDE
      owesStatus_ = true;
      continue;
    }
    peer.statusSequence = fingerprint.sequence;
    ++peer.unread;
    peer.send(message);
  }
}

void ControlMesh::sendMessageWait(const std::optional<Fingerprint>& message) noexcept {
  if (!message && !hasSentMessageWait_) return;
  if (!message || messageWait_ != message) long_waits::set(&peers_, message ? describe(*message) : "");
  messageWait_ = message;
  hasSentMessageWait_ = message.has_value();
  std::optional<std::vector<std::uint8_t>> encoded;
  for (auto& peer : peers_) {
    if (!peer.link || peer.sentMessageWait == message) continue;
    if (peer.unread + 3 > kMaxUnreadMessages) {  // STATUS and its OUTSIDE too
      hasSentMessageWait_ = true;
      continue;
    }
    if (!encoded) encoded = encodeMessage(ControlType::Message, message ? bytesOf(*message) : std::vector<std::uint8_t>{});
    peer.sentMessageWait = message;
    ++peer.unread;
    peer.send(*encoded);
  }
}

void ControlMesh::sendOutside(std::uint64_t sequence) noexcept {
  const std::vector<std::uint8_t> message = encodeMessage(ControlType::Outside, {});
  for (auto& peer : peers_) {
    if (peer.statusSequence != sequence) continue;
    peer.statusSequence.reset();
    ++peer.unread;
    peer.send(message);
  }
}

void ControlMesh::abort(const Failure& failure, std::uint64_t sequence) noexcept {
  long_waits::set(this, "");
  long_waits::set(&peers_, "");
  sendToAll(ControlType::Abort, encodeAbort(failure, sequence));
  shutDownSending();
}

void ControlMesh::leave() noexcept {
  sendToAll(ControlType::Leave, {});
  shutDownSending();
}

void ControlMesh::operationEnded(const Call& call) noexcept {
  if (lastStatusSequence_ == call.fingerprint.sequence) {
    sendOutside(call.fingerprint.sequence);
    long_waits::set(this, "");
    lastStatusSequence_.reset();
    owesStatus_ = false;
  }
  if (needsEveryRank(call.fingerprint.op)) lastCollective_ = call.fingerprint;
  if (++endedOperations_ % kOperationsPerLook == 0 && Clock::now() - lastReceived_ >= kReceiveInterval) receive();
}

void ControlMesh::sendToAll(ControlType type, const std::vector<std::uint8_t>& body) noexcept {
  const std::vector<std::uint8_t> message = encodeMessage(type, body);
  for (auto& peer : peers_) peer.send(message);
}

// Half-closed, because closing a TCP connection with unread bytes resets it, and a reset can overtake the last
// message.
void ControlMesh::shutDownSending() noexcept {
  for (const auto& peer : peers_) {
    if (peer.link) ::shutdown(peer.link.fd(), SHUT_WR);
  }
}

void ControlMesh::passMemory(int fd, std::uint64_t bytes) {
  PassedMemoryBody body;
  body.bytes = bytes;
  std::vector<std::uint8_t> bytesToSend = encodeMessage(ControlType::Memory, bytesOf(body));
  for (const int peer : directory_.localRanks()) {
    if (peer == rank_) continue;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    iovec part{bytesToSend.data(), bytesToSend.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    if (::sendmsg(peers_[peer].link.fd(), &message, kNoSignal) >= 0) continue;
    const int error = errno;
    receive();
    if (hasEnded(peer)) throw endFailure(peer);
    throw Failure(FailureCode::PeerDied, {{peer, {}}}, describeSystemError("sendmsg", error, "sending shared memory"));
  }
}

std::optional<PassedMemory> ControlMesh::takePassedMemory(int peer) {
  auto& received = peers_[peer].passedMemory;
  if (received.empty()) return std::nullopt;
  PassedMemory memory = std::move(received.front());
  received.pop_front();
  return memory;
}

}  // namespace ringrun
