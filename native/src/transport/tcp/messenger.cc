#include "transport/tcp/messenger.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "base/descriptors.h"
#include "base/failure.h"
#include "base/usable_cpus.h"
#include "base/wait.h"
#include "transport/connect/dial.h"
#include "transport/connect/tcp_state.h"
#include "transport/tcp/remaining_parts.h"

namespace ringrun {
namespace {

// Attempts before sleeping in pollSockets(): about 20 µs. Only if every rank can have its own processor.
constexpr int kSpins = 40;

// If ranks share processors: yields before sleeping.
constexpr int kYields = 10;

// If an awaited peer has ended and its connection has been silent for this long, no more data is expected.
constexpr Milliseconds kGraceAfterEnd{5000};

// Maximum delay between the end of a data connection and the control message that explains it.
constexpr Milliseconds kEndReasonTimeout{200};

// A rank sends STATUS for an operation that takes this long, even if it makes progress.
constexpr Milliseconds kLongOperation{1000};

}  // namespace

Messenger::Messenger(const Directory& directory, Acceptor& acceptor, ControlMesh& mesh)
    : rank_(directory.rank()),
      size_(directory.size()),
      isOversubscribed_(size_ > usableCpus()),
      directory_(directory),
      acceptor_(acceptor),
      mesh_(mesh),
      channels_(static_cast<std::size_t>(size_)),
      processors_(static_cast<std::size_t>(size_), kUnknownProcessor) {}

void Messenger::transfer(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives,
                         std::size_t mostAhead, const WorkMeanwhile& meanwhile) {
  begin(call, sends, receives);
  run(call, mostAhead, nullptr, meanwhile);
}

void Messenger::transfer(const Call& call, const Messages& first, const Follow& follow) {
  begin(call, first.sends, first.receives);
  run(call, 0, &follow, {});
}

void Messenger::run(const Call& call, std::size_t mostAhead, const Follow* follow, const WorkMeanwhile& meanwhile) {
  auto lastProgress = Clock::now();
  int idle = 0;
  for (;;) {
    const bool advanced = advanceAll(call);
    if (follow != nullptr) replaceComplete(call, *follow);
    if (isComplete(mostAhead)) return;
    if (advanced || (meanwhile && meanwhile())) {
      idle = 0;
      continue;
    }
    if (++idle == 1) lastProgress = Clock::now();
    if (isOversubscribed_ && !usesLanes_ && idle <= kYields) {
      std::this_thread::yield();
      continue;
    }
    if (!isOversubscribed_ && !usesLanes_ && idle <= kSpins && (idle > 1 || runsApartFromPeers())) continue;
    waitForReadiness(call);
    checkWhileWaiting(call, lastProgress);
  }
}

void Messenger::begin(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives) {
  usesLanes_ = false;
  sent_.clear();
  receiving_.clear();
  add(call, sends, receives);
}

void Messenger::add(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives) {
  const std::uint32_t processor = currentProcessor();
  for (const auto& message : sends) {
    Sending sending{message, {}};
    sending.header.part = message.part;
    sending.header.fingerprint = call.fingerprint;
    sending.header.bytes = message.bytes;
    sending.header.processor = processor;
    std::deque<Sending>& queue = channelTo(message.to).sending;
    if (queue.empty()) sendingTo_.push_back(message.to);
    queue.push_back(sending);
    if (message.bytes >= kStripedBytes) beginLanes(message.to);
  }
  for (const auto& message : receives) {
    const LentBytes overwritten{static_cast<const std::uint8_t*>(message.into), message.bytes};
    for (const int peer : lentTo_) channelTo(peer).connection.copyLent(overwritten);
    receiving_.push_back({message, {}});
    if (message.bytes >= kStripedBytes) beginLanes(message.from);
  }
}

void Messenger::replaceComplete(const Call& call, const Follow& follow) {
  for (const Outgoing& message : std::exchange(sent_, {})) {
    const Messages next = follow.sent(message);
    add(call, next.sends, next.receives);
  }
  const auto isUnderWay = [](const Receiving& one) { return !one.complete(); };
  const auto firstComplete = std::stable_partition(receiving_.begin(), receiving_.end(), isUnderWay);
  const std::vector<Receiving> received(firstComplete, receiving_.end());
  receiving_.erase(firstComplete, receiving_.end());
  for (const auto& one : received) {
    const Messages next = follow.received(one.message);
    add(call, next.sends, next.receives);
  }
}

bool Messenger::advanceAll(const Call& call) {
  bool advanced = false;
  for (const int peer : sendingTo_) {
    if (hasConnection(peer, call)) advanced |= advanceSends(peer, call);
  }
  const auto isSent = [&](int peer) { return channelTo(peer).sending.empty(); };
  sendingTo_.erase(std::remove_if(sendingTo_.begin(), sendingTo_.end(), isSent), sendingTo_.end());
  for (auto& receiving : receiving_) {
    if (!receiving.complete() && hasConnection(receiving.message.from, call)) advanced |= advance(receiving, call);
  }
  return advanced;
}

bool Messenger::isComplete(std::size_t mostAhead) const {
  return std::all_of(receiving_.begin(), receiving_.end(), [](const Receiving& one) { return one.complete(); }) &&
         std::all_of(sendingTo_.begin(), sendingTo_.end(),
                     [&](int peer) { return channelTo(peer).sending.size() <= mostAhead; });
}

bool Messenger::hasConnection(int peer, const Call& call) {
  Link& connection = channelTo(peer).connection;
  if (connection) return true;
  if (peer > rank_) acceptor_.advance();
  connection = advanceConnecting({peer, 0}, call);
  return static_cast<bool>(connection);
}

// The higher rank connects.
Link Messenger::advanceConnecting(Lane lane, const Call& call) {
  return lane.first < rank_ ? advanceDialling(lane, call) : acceptor_.take(Purpose::Data, lane.first, lane.second);
}

// A peer that refuses connections has ended, and may have sent the reason on its control connection.
Link Messenger::advanceDialling(Lane lane, const Call& call) {
  std::string refusal;
  try {
    const auto one = dialled_.try_emplace(lane, directory_, lane.first, Purpose::Data, lane.second).first;
    Link connection = one->second.advance(call);
    if (connection) dialled_.erase(one);
    return connection;
  } catch (const Failure& failure) {
    if (failure.code != FailureCode::PeerDied) throw;
    refusal = failure.detail;
  }
  throwEndFailureOf(lane.first, refusal);
}

bool Messenger::advance(Sending& sending) {
  const int peer = sending.message.to;
  const std::size_t bytes = sending.header.isStriped != 0 ? 0 : sending.message.bytes;
  iovec parts[2];
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(
      remainingParts(parts, &sending.header, sizeof sending.header, const_cast<void*>(sending.message.data), bytes,
                     sending.done));
  LentBytes lent;
  if (sending.message.isLent && bytes > 0) {
    lent = {static_cast<const std::uint8_t*>(sending.message.data), bytes};
    if (std::find(lentTo_.begin(), lentTo_.end(), peer) == lentTo_.end()) lentTo_.push_back(peer);
  }
  const ssize_t sent = channelTo(peer).connection.send(message, lent);
  if (sent < 0) {
    if (wouldBlock(errno)) return false;
    const int error = errno;
    const std::string about = std::to_string(sending.done) + " of " +
                              std::to_string(sizeof sending.header + bytes) + " bytes sent";
    throwEndFailureOf(peer, describeEnd("sendmsg", error, about, directory_, peer));
  }
  sending.done += static_cast<std::size_t>(sent);
  return sent > 0;
}

bool Messenger::advance(Receiving& receiving, const Call& call) {
  const int peer = receiving.message.from;
  if (receiving.isStriped()) return advanceStriped(receiving, call);
  // The elements of a striped message do not follow its header, but other headers may. The sender may have measured a
  // longer round trip than this rank.
  const bool mayBeStriped = receiving.message.bytes >= kStripedBytes && !directory_.isOnThisMachine(peer);
  const bool headerAlone = (receiving.message.headerFirst || mayBeStriped) && receiving.done < sizeof receiving.header;
  iovec parts[2];
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(
      remainingParts(parts, &receiving.header, sizeof receiving.header, receiving.message.into,
                     headerAlone ? 0 : receiving.message.bytes, receiving.done));
  const ssize_t got = channelTo(peer).connection.receive(message);
  const auto progress = [&] {
    return std::to_string(receiving.done) + " of " + std::to_string(sizeof receiving.header + receiving.message.bytes) +
           " bytes received";
  };
  if (got < 0) {
    if (wouldBlock(errno)) return false;
    if (errno == EBADMSG) throwAltered(peer);
    const int error = errno;
    throwEndFailureOf(peer, describeEnd("recvmsg", error, progress(), directory_, peer));
  }
  if (got == 0) throwEndFailureOf(peer, "its data connection closed, " + progress());
  const bool hadHeader = receiving.done >= sizeof receiving.header;
  receiving.done += static_cast<std::size_t>(got);
  if (!hadHeader && receiving.done >= sizeof receiving.header) {
    checkHeader(receiving, call);
    if (receiving.isStriped()) {
      receiving.striped = {static_cast<std::uint8_t*>(receiving.message.into), receiving.message.bytes,
                           channelTo(peer).stripedReceives++};
    }
    if (directory_.isOnThisMachine(peer)) processors_[static_cast<std::size_t>(peer)] = receiving.header.processor;
  }
  return true;
}

void Messenger::checkHeader(const Receiving& receiving, const Call& call) const {
  const DataHeader& header = receiving.header;
  const int peer = receiving.message.from;
  if (header.magic != kDataMagic) {
    throw Failure(FailureCode::PeerDied, {{peer, {}}}, "it sent bytes that are not a ringrun message");
  }
  if (header.fingerprint != call.fingerprint) {
    throw Failure(FailureCode::Mismatch, {{rank_, call.fingerprint}, {peer, header.fingerprint}},
                  "the ranks called different operations");
  }
  if (header.part != receiving.message.part || header.bytes != receiving.message.bytes) {
    throw Failure(FailureCode::Mismatch, {{rank_, call.fingerprint}, {peer, header.fingerprint}},
                  "received part " + std::to_string(header.part) + " of " + std::to_string(header.bytes) + " bytes, expected part " +
                      std::to_string(receiving.message.part) + " of " + std::to_string(receiving.message.bytes) +
                      " bytes. Install the same version of ringrun on every rank");
  }
}

// True if this thread runs on another processor than all peers on this machine that it waits for, so that it
// may spin.
bool Messenger::runsApartFromPeers() {
  bool enough = true;
  const auto moveAwayFrom = [&](int peer) { enough &= mover_.moveAwayFrom(processors_[static_cast<std::size_t>(peer)]); };
  for (const int peer : sendingTo_) moveAwayFrom(peer);
  for (const auto& receiving : receiving_) {
    if (!receiving.complete()) moveAwayFrom(receiving.message.from);
  }
  return enough;
}

void Messenger::waitForReadiness(const Call& call) {
  interests_.clear();
  Milliseconds pause = call.deadline.leftWithin(kLivenessInterval);
  bool isAwaiting = false;  // a rank that connects to this one
  const auto addConnecting = [&](Lane lane) {
    const auto dialled = dialled_.find(lane);
    if (dialled == dialled_.end()) {
      isAwaiting = true;
      return;
    }
    dialled->second.addInterest(interests_);
    pause = dialled->second.pauseWithin(pause);
  };
  const auto addLanes = [&](int peer, bool sends, const StripedReceive* receiving) {
    const Channel& channel = channelTo(peer);
    channel.stripes.addInterests(interests_, sends, receiving);
    const std::uint32_t awaited = std::min(channel.lanes.value_or(0), lanesToOpen(peer));
    for (std::uint32_t lane = 1; lane <= awaited; ++lane) {
      if (!channel.stripes.has(lane)) addConnecting({peer, lane});
    }
  };
  for (const int peer : sendingTo_) {
    const Channel& channel = channelTo(peer);
    if (!channel.connection) {
      addConnecting({peer, 0});
      continue;
    }
    if (channel.lanes.value_or(0) > 0) {
      addLanes(peer, waitsForLanes(channel), nullptr);
    }
    if (waitsForConnection(channel)) interests_.push_back({channel.connection.fd(), POLLOUT, 0});
  }
  for (const auto& receiving : receiving_) {
    const int peer = receiving.message.from;
    const Channel& channel = channelTo(peer);
    if (receiving.complete()) continue;
    if (!channel.connection) {
      addConnecting({peer, 0});
    } else if (receiving.isStriped()) {
      addLanes(peer, false, &receiving.striped);
    } else {
      interests_.push_back({channel.connection.fd(), POLLIN, 0});
    }
  }
  mesh_.addInterests(interests_, isAwaiting);
  pollSockets(interests_.data(), interests_.size(), pause);
}

void Messenger::checkWhileWaiting(const Call& call, Clock::time_point lastProgress) {
  const auto idle = Clock::now() - lastProgress;
  // A long operation delays others even if it makes progress.
  const bool takesLong = Clock::now() - call.deadline.since() >= kLongOperation;
  if (idle >= kLivenessInterval || takesLong) mesh_.sendStatus(call.fingerprint);
  mesh_.receive();
  mesh_.throwIfFailedBy(call.fingerprint.sequence);
  mesh_.throwIfDisagreed(call.fingerprint);
  for (const int peer : sendingTo_) throwIfEnded(peer, idle);
  for (const auto& receiving : receiving_) {
    if (!receiving.complete()) throwIfEnded(receiving.message.from, idle);
  }
  mesh_.reportWait(call, idle, [&] { return missing(call); });
  if (call.deadline.passed()) throw Failure(FailureCode::Timeout, missing(call), "waiting for data over TCP" + problemOfDialling());
  throwIfTimedOutOrCancelled(call, rank_, "");
}

void Messenger::throwIfEnded(int peer, Clock::duration idle) {
  if (!mesh_.hasEnded(peer)) return;
  // It may have connected, sent and ended since the last check.
  Link& connection = channelTo(peer).connection;
  if (!connection && peer > rank_) {
    acceptor_.advance();
    connection = acceptor_.take(Purpose::Data, peer);
  }
  const Milliseconds grace = mesh_.isSilent(peer) ? std::min(kGraceAfterEnd, directory_.silentPeerTimeout()) : kGraceAfterEnd;
  if (!connection || connection.isLost() || idle >= grace) throw mesh_.endFailure(peer);
}

std::string Messenger::problemOfDialling() const {
  for (const auto& [_, one] : dialled_) {
    if (!one.lastProblem().empty()) return "; " + one.lastProblem();
  }
  return "";
}

// The ranks without a STATUS of this operation, or those for which these wait; if all have sent it, the ranks that
// this rank waits for.
std::vector<InvolvedRank> Messenger::missing(const Call& call) const {
  std::vector<InvolvedRank> silent;
  for (int peer = 0; peer < size_; ++peer) {
    const auto status = mesh_.lastStatusOf(peer);
    const bool waitsHere = status && status->sequence >= call.fingerprint.sequence;
    if (peer != rank_ && !waitsHere) silent.push_back({peer, mesh_.lastSeenIn(peer)});
  }
  if (!silent.empty()) return mesh_.missingBehind(silent);
  std::vector<InvolvedRank> awaited;
  for (const auto& receiving : receiving_) {
    if (!receiving.complete()) awaited.push_back({receiving.message.from, mesh_.lastSeenIn(receiving.message.from)});
  }
  for (const int peer : sendingTo_) awaited.push_back({peer, mesh_.lastSeenIn(peer)});
  return awaited;
}

// A data connection ends because the peer died, or because it failed and sent the reason on its control
// connection.
void Messenger::throwEndFailureOf(int peer, const std::string& noticed) {
  const Deadline timeout = Deadline::after(static_cast<double>(kEndReasonTimeout.count()));
  for (;;) {
    mesh_.receive();
    if (mesh_.hasEnded(peer)) throw mesh_.endFailure(peer);
    if (timeout.passed()) throw Failure(FailureCode::PeerDied, {{peer, {}}}, noticed);
    interests_.clear();
    mesh_.addInterests(interests_);
    pollSockets(interests_.data(), interests_.size(), timeout.leftWithin(kEndReasonTimeout));
  }
}

void Messenger::throwAltered(int peer) const {
  throw Failure(FailureCode::Altered, {{peer, {}}}, describeAltered("data", directory_, peer));
}

void Messenger::copyLent() {
  for (const int peer : lentTo_) channelTo(peer).connection.copyLent();
  lentTo_.clear();
}

void Messenger::limitUnsent(int peer, int bytes) {
  channelTo(peer).connection.limitUnsent(bytes);
}

void Messenger::closeAll() {
  for (auto& channel : channels_) channel = Channel{};
  sendingTo_.clear();
  dialled_.clear();
}

}  // namespace ringrun
