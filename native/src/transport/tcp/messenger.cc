#include "transport/tcp/messenger.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/failure.h"
#include "base/usable_cpus.h"
#include "base/wait.h"
#include "transport/connect/dial.h"

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

bool wouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// Header and data as the two parts of one system call, without the first `done` bytes.
int remainingParts(iovec* parts, void* header, std::size_t headerBytes, void* data, std::size_t dataBytes, std::size_t done) {
  int count = 0;
  if (done < headerBytes) {
    parts[count++] = {static_cast<std::uint8_t*>(header) + done, headerBytes - done};
    done = headerBytes;
  }
  const std::size_t dataDone = done - headerBytes;
  if (dataDone < dataBytes) parts[count++] = {static_cast<std::uint8_t*>(data) + dataDone, dataBytes - dataDone};
  return count;
}

}  // namespace

Messenger::Messenger(const Directory& directory, Acceptor& acceptor, ControlMesh& mesh)
    : rank_(directory.rank()),
      size_(directory.size()),
      isOversubscribed_(size_ > usableCpus()),
      directory_(directory),
      acceptor_(acceptor),
      mesh_(mesh),
      connections_(static_cast<std::size_t>(size_)),
      processors_(static_cast<std::size_t>(size_), kUnknownProcessor) {}

void Messenger::transfer(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives,
                         const WorkMeanwhile& meanwhile) {
  begin(call, sends, receives);
  run(call, nullptr, meanwhile);
}

void Messenger::transfer(const Call& call, const Messages& first, const Follow& follow) {
  begin(call, first.sends, first.receives);
  run(call, &follow, {});
}

void Messenger::run(const Call& call, const Follow* follow, const WorkMeanwhile& meanwhile) {
  auto lastProgress = Clock::now();
  int idle = 0;
  for (;;) {
    const bool advanced = advanceAll(call);
    if (follow != nullptr) replaceComplete(call, *follow);
    if (isComplete()) return;
    if (advanced || (meanwhile && meanwhile())) {
      idle = 0;
      continue;
    }
    if (++idle == 1) lastProgress = Clock::now();
    if (isOversubscribed_ && idle <= kYields) {
      std::this_thread::yield();
      continue;
    }
    if (!isOversubscribed_ && idle <= kSpins && (idle > 1 || runsApartFromPeers())) continue;
    waitForReadiness(call);
    checkWhileWaiting(call, lastProgress);
  }
}

void Messenger::begin(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives) {
  sending_.clear();
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
    sending_.push_back(sending);
  }
  for (const auto& message : receives) receiving_.push_back({message, {}});
}

void Messenger::replaceComplete(const Call& call, const Follow& follow) {
  const auto takeComplete = [](auto& all) {
    const auto firstComplete = std::stable_partition(all.begin(), all.end(), [](const auto& one) { return !one.complete(); });
    std::remove_reference_t<decltype(all)> complete(firstComplete, all.end());
    all.erase(firstComplete, all.end());
    return complete;
  };
  for (const auto& one : takeComplete(sending_)) {
    const Messages next = follow.sent(one.message);
    add(call, next.sends, next.receives);
  }
  for (const auto& one : takeComplete(receiving_)) {
    const Messages next = follow.received(one.message);
    add(call, next.sends, next.receives);
  }
}

bool Messenger::advanceAll(const Call& call) {
  bool advanced = false;
  for (auto& sending : sending_) {
    if (!sending.complete() && hasConnection(sending.message.to, call)) advanced |= advance(sending);
  }
  for (auto& receiving : receiving_) {
    if (!receiving.complete() && hasConnection(receiving.message.from, call)) advanced |= advance(receiving, call);
  }
  return advanced;
}

bool Messenger::isComplete() const {
  const auto complete = [](const auto& one) { return one.complete(); };
  return std::all_of(receiving_.begin(), receiving_.end(), complete) &&
         std::all_of(sending_.begin(), sending_.end(), complete);
}

bool Messenger::hasConnection(int peer, const Call& call) {
  Link& connection = connections_[static_cast<std::size_t>(peer)];
  if (connection) return true;
  if (peer < rank_) {
    connection = advanceDialling(peer, call);
  } else {
    acceptor_.advance();
    connection = acceptor_.take(Purpose::Data, peer);
  }
  return static_cast<bool>(connection);
}

// A peer that refuses connections has ended, and may have sent the reason on its control connection.
Link Messenger::advanceDialling(int peer, const Call& call) {
  std::string refusal;
  try {
    const auto one = dialled_.try_emplace(peer, directory_, peer, Purpose::Data).first;
    Link connection = one->second.advance(call);
    if (connection) dialled_.erase(one);
    return connection;
  } catch (const Failure& failure) {
    if (failure.code != FailureCode::PeerDied) throw;
    refusal = failure.detail;
  }
  throwEndFailureOf(peer, refusal);
}

bool Messenger::advance(Sending& sending) {
  const int peer = sending.message.to;
  iovec parts[2];
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(
      remainingParts(parts, &sending.header, sizeof sending.header, const_cast<void*>(sending.message.data),
                     sending.message.bytes, sending.done));
  const ssize_t sent = connections_[static_cast<std::size_t>(peer)].send(message);
  if (sent < 0) {
    if (wouldBlock(errno)) return false;
    const int error = errno;
    const std::string about = std::to_string(sending.done) + " of " +
                              std::to_string(sizeof sending.header + sending.message.bytes) + " bytes sent";
    throwEndFailureOf(peer, describeEnd("sendmsg", error, about, directory_, peer));
  }
  sending.done += static_cast<std::size_t>(sent);
  return sent > 0;
}

bool Messenger::advance(Receiving& receiving, const Call& call) {
  const int peer = receiving.message.from;
  const bool headerAlone = receiving.message.headerFirst && receiving.done < sizeof receiving.header;
  iovec parts[2];
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(
      remainingParts(parts, &receiving.header, sizeof receiving.header, receiving.message.into,
                     headerAlone ? 0 : receiving.message.bytes, receiving.done));
  const ssize_t got = connections_[static_cast<std::size_t>(peer)].receive(message);
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
  for (const auto& sending : sending_) {
    if (!sending.complete()) moveAwayFrom(sending.message.to);
  }
  for (const auto& receiving : receiving_) {
    if (!receiving.complete()) moveAwayFrom(receiving.message.from);
  }
  return enough;
}

void Messenger::waitForReadiness(const Call& call) {
  interests_.clear();
  Milliseconds pause = call.deadline.leftWithin(kLivenessInterval);
  bool isAwaiting = false;  // a rank that connects to this one
  const auto add = [&](int peer, short events) {
    const Link& connection = connections_[static_cast<std::size_t>(peer)];
    if (connection) {
      interests_.push_back({connection.fd(), events, 0});
    } else if (const auto dialled = dialled_.find(peer); dialled != dialled_.end()) {
      dialled->second.addInterest(interests_);
      pause = dialled->second.pauseWithin(pause);
    } else {
      isAwaiting = true;
    }
  };
  for (const auto& sending : sending_) {
    if (!sending.complete()) add(sending.message.to, POLLOUT);
  }
  for (const auto& receiving : receiving_) {
    if (!receiving.complete()) add(receiving.message.from, POLLIN);
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
  for (const auto& sending : sending_) {
    if (!sending.complete()) throwIfEnded(sending.message.to, idle);
  }
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
  Link& connection = connections_[static_cast<std::size_t>(peer)];
  if (!connection && peer > rank_) {
    acceptor_.advance();
    connection = acceptor_.take(Purpose::Data, peer);
  }
  const Milliseconds grace = mesh_.isSilent(peer) ? std::min(kGraceAfterEnd, directory_.silentPeerTimeout()) : kGraceAfterEnd;
  if (!connection || idle >= grace) throw mesh_.endFailure(peer);
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
  for (const auto& sending : sending_) {
    if (!sending.complete()) awaited.push_back({sending.message.to, mesh_.lastSeenIn(sending.message.to)});
  }
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

void Messenger::limitUnsent(int peer, int bytes) {
  const Link& connection = connections_[static_cast<std::size_t>(peer)];
  // A kernel without it buffers more, which only takes longer.
  if (connection) static_cast<void>(::setsockopt(connection.fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes));
}

void Messenger::closeAll() {
  for (auto& connection : connections_) connection.reset();
  dialled_.clear();
}

}  // namespace ringrun
