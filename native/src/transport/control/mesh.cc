#include "transport/control/mesh.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "base/long_waits.h"
#include "base/wait.h"
#include "base/wait_reports.h"
#include "transport/connect/dial.h"
#include "transport/control/messages.h"

namespace ringrun {
namespace {

// Interval at which a rank that waits for connections checks that the missing ranks still listen.
constexpr Milliseconds kProbeInterval{500};

constexpr std::size_t kReadBytes = 4096;

// Maximum time to wait for the STATUS of other ranks, which they send within kLivenessInterval.
constexpr Milliseconds kSidesTimeout{300};

// Time in which the ranks of a group that cannot be formed learn from each other who died.
constexpr Milliseconds kSettleTimeout{300};

// A rank that never waits reads its control connections at this interval, so that their buffers do not fill.
constexpr Milliseconds kReceiveInterval{1000};

// Descriptors arrive with the bytes of their message. Shared memory is passed one allocation at a time, so few are in
// flight.
constexpr std::size_t kMaxDescriptors = 16;

constexpr char kMalformed[] = "it sent bytes that are not a control message";

void takeDescriptors(msghdr& message, std::deque<UniqueFd>& into) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
      into.emplace_back(fd);
    }
  }
}

// An allReduceCoalesced consists of several all-reduces of different lengths, and destroy of several steps. Ranks may
// be in different ones: STATUS messages describe the whole operation.
Fingerprint wholeOf(Fingerprint part) {
  if (part.op == Op::AllReduceCoalesced || part.op == Op::Destroy) part.count = 0;
  if (part.op == Op::Destroy) {
    part.reduceOp = ReduceOp::None;
    part.dtype = DType::None;
  }
  return part;
}

}  // namespace

ControlMesh::ControlMesh(const Directory& directory)
    : directory_(directory), rank_(directory.rank()), peers_(static_cast<std::size_t>(directory.size())) {}

ControlMesh::~ControlMesh() {
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
    if (peers_[peer].state != PeerState::NotConnected) continue;
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
    if (peer != rank_ && peers_[peer].state == PeerState::NotConnected) missing.push_back({peer, {}});
  }
  return missing;
}

// Control messages are so few that they always fit into the window, even if the peer does not read.
void ControlMesh::addPeer(int peer, Link link) {
  endWhenUnanswered(link.fd(), directory_.socketTypeTo(peer), directory_.silentPeerTimeout());
  peers_[peer].link = std::move(link);
  peers_[peer].state = PeerState::Connected;
}

void ControlMesh::addInterests(std::vector<pollfd>& interests, bool isAwaiting) const {
  for (const auto& peer : peers_) {
    if (peer.state == PeerState::Connected) interests.push_back({peer.link.fd(), POLLIN, 0});
  }
  if (acceptor_ != nullptr && (isAwaiting || acceptor_->isDue())) acceptor_->addInterests(interests);
}

void ControlMesh::receive() {
  lastReceived_ = Clock::now();
  std::vector<pollfd> interests;
  addInterests(interests);
  const bool isReady = !interests.empty() && ::poll(interests.data(), interests.size(), 0) > 0;
  std::size_t next = 0;
  for (int peer = 0; isReady && peer < static_cast<int>(peers_.size()); ++peer) {
    if (peers_[peer].state == PeerState::Connected && interests[next++].revents != 0) receiveFrom(peer);
  }
  if (acceptor_ == nullptr) return;
  const auto isAny = [](const pollfd& interest) { return interest.revents != 0; };
  const auto first = interests.begin() + static_cast<std::ptrdiff_t>(next);
  if (acceptor_->hasStrangers() || (isReady && std::any_of(first, interests.end(), isAny))) acceptor_->advanceIfDue();
}

void ControlMesh::receiveFrom(int peer) {
  Peer& from = peers_[peer];
  while (from.state == PeerState::Connected) {
    std::uint8_t bytes[kReadBytes];
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
    iovec part{bytes, sizeof bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
#ifdef MSG_CMSG_CLOEXEC
    constexpr int kFlags = MSG_CMSG_CLOEXEC;
#else
    constexpr int kFlags = 0;
#endif
    const ssize_t got = from.link.receive(message, kFlags);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0 && errno == EBADMSG) {
      from.failure.emplace(FailureCode::Altered, std::vector<InvolvedRank>{{peer, {}}}, describeAltered("control", directory_, peer));
      from.state = PeerState::Failed;
      return;
    }
    if (got < 0) {
      const int error = errno;
      from.isSilent = isSilence(error);
      return markDisconnected(peer, describeEnd("recv", error, "its control connection", directory_, peer));
    }
    if (got == 0) return markDisconnected(peer, "its control connection closed unexpectedly");
    takeDescriptors(message, from.descriptors);
    if ((message.msg_flags & MSG_CTRUNC) != 0 || from.descriptors.size() + from.passedMemory.size() > kMaxDescriptors) {
      return markDisconnected(peer, "it passed more descriptors than a rank of ringrun passes");
    }
    from.inbox.insert(from.inbox.end(), bytes, bytes + got);
    readMessages(peer);
  }
}

void ControlMesh::readMessages(int peer) {
  auto& inbox = peers_[peer].inbox;
  std::size_t at = 0;
  ControlHeader header;
  while (inbox.size() - at >= sizeof header) {
    std::memcpy(&header, inbox.data() + at, sizeof header);
    if (header.magic != kControlMagic || header.bodyBytes > kMaxBodyBytes) {
      return markDisconnected(peer, kMalformed);
    }
    if (inbox.size() - at - sizeof header < header.bodyBytes) break;
    handle(peer, header.type, inbox.data() + at + sizeof header, header.bodyBytes);
    if (peers_[peer].state != PeerState::Connected) return;  // that was its last message
    at += sizeof header + header.bodyBytes;
  }
  inbox.erase(inbox.begin(), inbox.begin() + static_cast<std::ptrdiff_t>(at));
}

void ControlMesh::handle(int peer, ControlType type, const std::uint8_t* body, std::size_t bytes) {
  Peer& from = peers_[peer];
  switch (type) {
    case ControlType::Status:
      if (bytes != sizeof(Fingerprint)) break;
      from.status.emplace();
      std::memcpy(&*from.status, body, sizeof(Fingerprint));
      from.isWaiting = true;
      return acknowledge(from);
    case ControlType::Outside:
      if (bytes != 0) break;
      from.isWaiting = false;
      return acknowledge(from);
    case ControlType::Message:
      if (bytes != 0 && bytes != sizeof(Fingerprint)) break;
      from.messageWait.reset();
      if (bytes != 0) std::memcpy(&from.messageWait.emplace(), body, sizeof(Fingerprint));
      return acknowledge(from);
    case ControlType::Read: {
      ReadBody read;
      if (bytes != sizeof read) break;
      std::memcpy(&read, body, sizeof read);
      if (read.messages > from.unread) break;
      from.unread -= read.messages;
      return;
    }
    case ControlType::Abort: {
      DecodedAbort abort = decodeAbort(body, bytes, peer, directory_.size());
      from.failure = std::move(abort.failure);
      from.failedSequence = abort.sequence;
      from.state = PeerState::Failed;
      return;
    }
    case ControlType::Leave:
      if (bytes != 0) break;
      from.state = PeerState::Left;
      return;
    case ControlType::Memory: {
      PassedMemoryBody memory;
      if (bytes != sizeof memory || from.descriptors.empty()) break;
      std::memcpy(&memory, body, sizeof memory);
      from.passedMemory.push_back({std::move(from.descriptors.front()), memory.bytes});
      from.descriptors.pop_front();
      return;
    }
  }
  markDisconnected(peer, kMalformed);
}

// Tells the peer how much was read, so that it does not send more than the connection holds.
void ControlMesh::acknowledge(Peer& from) {
  if (++from.toAcknowledge < kReadBatch) return;
  ReadBody read;
  read.messages = std::exchange(from.toAcknowledge, 0);
  sendTo(from, encodeMessage(ControlType::Read, bytesOf(read)));
}

void ControlMesh::markDisconnected(int peer, std::string how) {
  peers_[peer].state = PeerState::Disconnected;
  peers_[peer].disconnectReason = std::move(how);
}

bool ControlMesh::hasEnded(int peer) const {
  const PeerState state = peers_[peer].state;
  return state == PeerState::Left || state == PeerState::Failed || state == PeerState::Disconnected;
}

Failure ControlMesh::endFailure(int peer) const {
  const Peer& ended = peers_[peer];
  if (ended.failure) return *ended.failure;
  const std::string how = ended.state == PeerState::Left ? "it had left the group (destroy)" : ended.disconnectReason;
  return Failure(FailureCode::PeerDied, {{peer, ended.status}}, how);
}

void ControlMesh::throwIfFailedBy(std::uint64_t sequence) const {
  const Failure* first = nullptr;
  for (const auto& peer : peers_) {
    if (!peer.failure || peer.failedSequence > sequence) continue;
    // A mismatch explains the deaths that follow from it.
    if (first == nullptr || peer.failure->code == FailureCode::Mismatch) first = &*peer.failure;
  }
  if (first != nullptr) throw Failure(*first);
}

void ControlMesh::throwIfDisagreed(const Fingerprint& part) const {
  // Messages between GPUs have no number, so the STATUS of a peer may be about another one. Their headers are compared.
  if (part.sequence == 0) return;
  const Fingerprint mine = wholeOf(part);
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    const auto& theirs = peers_[peer].status;
    if (theirs && theirs->sequence == mine.sequence && *theirs != mine) {
      throw Failure(FailureCode::Mismatch, {{rank_, mine}, {peer, *theirs}}, "the ranks called different operations");
    }
  }
}

std::optional<Fingerprint> ControlMesh::lastStatusOf(int peer) const { return peers_[peer].status; }

std::optional<Fingerprint> ControlMesh::lastSeenIn(int peer) const {
  const auto& status = peers_[peer].status;
  const bool isLater = status && status->sequence != 0 && (!lastCollective_ || status->sequence > lastCollective_->sequence);
  return isLater ? status : lastCollective_;
}

// The ranks for which a peer waits; nothing if it does not wait, as far as is known.
std::optional<std::vector<int>> ControlMesh::awaitedBy(int peer) const {
  const Peer& one = peers_[peer];
  const bool isInCollective = one.isWaiting && one.status->sequence != 0;
  if (!one.messageWait && !isInCollective) return std::nullopt;
  if (one.messageWait && one.messageWait->root != kAnyRank) return std::vector<int>{static_cast<int>(one.messageWait->root)};
  std::vector<int> awaited;
  for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
    if (rank == peer || rank == rank_) continue;
    if (one.messageWait || !isWaitingInOrAfter(rank, one.status->sequence)) awaited.push_back(rank);
  }
  return awaited;
}

std::vector<InvolvedRank> ControlMesh::missingBehind(const std::vector<InvolvedRank>& awaited) const {
  std::vector<bool> isKnown(peers_.size(), false);
  isKnown[static_cast<std::size_t>(rank_)] = true;  // it waits
  std::vector<InvolvedRank> missing;
  std::deque<InvolvedRank> next(awaited.begin(), awaited.end());
  for (; !next.empty(); next.pop_front()) {
    const InvolvedRank one = next.front();
    const auto index = static_cast<std::size_t>(one.rank);
    if (index >= peers_.size() || isKnown[index]) continue;
    isKnown[index] = true;
    const auto behind = awaitedBy(one.rank);
    if (!behind) missing.push_back(one);
    for (const int rank : behind.value_or(std::vector<int>{})) next.push_back({rank, lastSeenIn(rank)});
  }
  if (missing.empty()) return awaited;
  std::sort(missing.begin(), missing.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return missing;
}

Failure ControlMesh::withAllSides(const Failure& mismatch, const Fingerprint& mine) {
  const bool isAboutFingerprints = std::any_of(mismatch.ranks.begin(), mismatch.ranks.end(),
                                               [&](const InvolvedRank& one) { return one.seenIn && *one.seenIn != mine; });
  if (!isAboutFingerprints) return mismatch;
  sendStatus(mine);
  Failure complete = mismatch;
  complete.ranks.clear();
  const Deadline timeout = Deadline::after(static_cast<double>(kSidesTimeout.count()));
  for (;;) {
    receive();
    int unknown = 0;
    for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
      if (peer != rank_ && !hasEnded(peer) && !sideOf(peer, mine)) ++unknown;
    }
    if (unknown == 0 || timeout.passed()) break;
    std::vector<pollfd> interests;
    addInterests(interests);
    pollSockets(interests.data(), interests.size(), timeout.leftWithin(kSidesTimeout));
  }
  for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
    std::optional<Fingerprint> side = rank == rank_ ? mine : sideOf(rank, mine);
    for (const auto& known : mismatch.ranks) {
      if (!side && known.rank == rank) side = known.seenIn;
    }
    if (side) complete.ranks.push_back({rank, side});
  }
  return complete;
}

Failure ControlMesh::withAllGone(const Failure& failure) {
  if (failure.code != FailureCode::PeerDied) return failure;
  receive();
  Failure complete = failure;
  const auto add = [&](const InvolvedRank& gone) {
    const auto isSame = [&](const InvolvedRank& one) { return one.rank == gone.rank; };
    if (gone.rank == rank_ || std::any_of(complete.ranks.begin(), complete.ranks.end(), isSame)) return;
    complete.ranks.push_back(gone);
  };
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    const Peer& one = peers_[peer];
    const bool isGone = one.state == PeerState::Disconnected ||
                        (one.state == PeerState::NotConnected && peer != rank_ && directory_.isOnThisMachine(peer) &&
                         hasStoppedListening(directory_, peer));
    if (isGone) add({peer, one.status});
    if (!one.failure || one.failure->code != FailureCode::PeerDied) continue;
    for (const InvolvedRank& reported : one.failure->ranks) add(reported);
  }
  return complete;
}

std::optional<Fingerprint> ControlMesh::sideOf(int peer, const Fingerprint& mine) const {
  const auto& status = peers_[peer].status;
  return status && status->sequence == mine.sequence ? status : std::nullopt;
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
    sendTo(peer, message);
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
    sendTo(peer, *encoded);
  }
}

void ControlMesh::sendOutside(std::uint64_t sequence) noexcept {
  const std::vector<std::uint8_t> message = encodeMessage(ControlType::Outside, {});
  for (auto& peer : peers_) {
    if (peer.statusSequence != sequence) continue;
    peer.statusSequence.reset();
    ++peer.unread;
    sendTo(peer, message);
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
  if (call.deadline.since() - lastReceived_ >= kReceiveInterval) receive();
}

bool ControlMesh::isWaitingInOrAfter(int peer, std::uint64_t sequence) const {
  const Peer& one = peers_[peer];
  return one.isWaiting && one.status->sequence >= sequence;
}

void ControlMesh::reportWait(const Call& call, Clock::duration waited, const Awaited& awaited) {
  if (!call.reports.isDue(call.deadline.since(), waited)) return;
  const std::uint64_t sequence = call.fingerprint.sequence;
  std::vector<InvolvedRank> missing;
  const std::vector<InvolvedRank> known = awaited();
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    if (peer == rank_) continue;
    if (!isWaitingInOrAfter(peer, sequence)) {
      const auto same = std::find_if(known.begin(), known.end(), [&](const InvolvedRank& one) { return one.rank == peer; });
      missing.push_back(same == known.end() ? InvolvedRank{peer, {}} : *same);
    } else if (peer < rank_) {
      return;
    }
  }
  // While connecting, connected ranks that still wait for others have not sent a STATUS in their first moments.
  if (missing.empty() || call.fingerprint.op == Op::Connect) missing = known;
  std::vector<WaitReports::Missing> described;
  for (const auto& one : missing) described.push_back({one.rank, describePeer(one.rank, sequence, one.seenIn)});
  call.reports.write(rank_, call, described);
}

std::string ControlMesh::describePeer(int peer, std::uint64_t sequence, const std::optional<Fingerprint>& seenIn) const {
  const Peer& one = peers_[peer];
  if (one.state == PeerState::NotConnected) return "which has not connected yet";
  if (one.messageWait) return "which is in " + describe(*one.messageWait);
  if (one.isWaiting) return "which is in " + nameAndNumberOf(*one.status);
  if (seenIn && sequence != 0 && seenIn->sequence == sequence) return "which has begun it";
  std::optional<Fingerprint> last = lastSeenIn(peer);
  if (seenIn && seenIn->sequence != 0 && (!last || seenIn->sequence > last->sequence)) last = seenIn;
  const std::string outside = "which is outside any collective";
  return last ? outside + ", its last was " + nameAndNumberOf(*last) : outside;
}

// A peer that cannot receive a message is ending, or has stopped reading long ago. Either way its own wait
// detects the failure.
void ControlMesh::sendToAll(ControlType type, const std::vector<std::uint8_t>& body) noexcept {
  const std::vector<std::uint8_t> message = encodeMessage(type, body);
  for (auto& peer : peers_) sendTo(peer, message);
}

void ControlMesh::sendTo(Peer& peer, const std::vector<std::uint8_t>& bytes) noexcept {
  if (!peer.link) return;
  iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  [[maybe_unused]] const ssize_t sent = peer.link.send(message);
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
    if (::sendmsg(peers_[peer].link.fd(), &message, MSG_NOSIGNAL) >= 0) continue;
    const int error = errno;
    receive();
    if (hasEnded(peer)) throw endFailure(peer);
    throw Failure(FailureCode::PeerDied, {{peer, {}}}, describeSystemError("sendmsg", error, "sending shared memory"));
  }
}

std::optional<ControlMesh::PassedMemory> ControlMesh::takePassedMemory(int peer) {
  auto& received = peers_[peer].passedMemory;
  if (received.empty()) return std::nullopt;
  PassedMemory memory = std::move(received.front());
  received.pop_front();
  return memory;
}

}  // namespace ringrun
