#include "point_to_point/point_to_point.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/usable_cpus.h"
#include "base/wait.h"
#include "transport/connect/dial.h"

namespace ringrun {
namespace {

// Rounds without progress before sleeping: about 20 µs. Only if every rank can have its own processor.
constexpr int kSpins = 20;

// Of a message that its caller no longer waits for.
constexpr double kDefaultTimeoutMs = 30 * 60 * 1000;

// The product of count and element size may overflow.
bool isShort(const Fingerprint& message) {
  const std::size_t bytes = bytesPerElement(message.dtype);
  return bytes > 0 && message.count <= kEagerMessageBytes / bytes;
}

bool isAlike(const Fingerprint& one, const Fingerprint& other) { return one.dtype == other.dtype && one.count == other.count; }

bool matches(const Message& receive, int from, const PointToPointHeader& header) {
  const bool fromThere = receive.peer() == kAnyRank || receive.peer() == static_cast<std::uint32_t>(from);
  return fromThere && receive.tag() == header.fingerprint.sequence;
}

Channel::Frame frameOf(PointToPointType type, std::uint64_t id, const Message& message) {
  Channel::Frame frame;
  frame.header.type = type;
  frame.header.fingerprint = message.fingerprint;
  frame.header.id = id;
  return frame;
}

Channel::Frame withElements(Channel::Frame frame, const Message& message) {
  frame.data = message.data;
  frame.bytes = message.fingerprint.bytes();
  return frame;
}

}  // namespace

PointToPoint::PointToPoint(Connections& connections, const std::atomic<bool>& cancelled, const WaitReports& reports)
    : connections_(connections),
      cancelled_(cancelled),
      reports_(reports),
      rank_(connections.rank()),
      spins_(connections.size() <= usableCpus() ? kSpins : 0),
      sentTo_(static_cast<std::size_t>(connections.size())),
      announcedFrom_(static_cast<std::size_t>(connections.size())) {}

bool PointToPoint::post(Message message) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(message));
  if (!busy_.exchange(true)) return true;
  notifier_.notify();
  return false;
}

void PointToPoint::run() {
  int idle = 0;
  for (;;) {
    acceptPosted();
    const bool advanced = advance();
    if (stopWhenDone()) return;
    if (advanced) {
      idle = 0;
    } else if (++idle > spins_) {
      wait();
      checkWhileWaiting();
    }
  }
}

void PointToPoint::acceptPosted() {
  notifier_.clear();
  std::vector<Message> messages;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(posted_);
    isAccepting_ = !messages.empty();
  }
  for (auto& message : messages) {
    const double timeoutMs = message.timeoutMs;
    Posted posted{std::move(message), Deadline::after(timeoutMs)};
    if (ended_) {
      posted.message.done(ended_, -1);
    } else if (posted.message.fingerprint.op == Op::Send) {
      beginSend(std::move(posted));
    } else {
      beginReceive(std::move(posted));
    }
  }
  isAccepting_ = false;
}

// Under the lock, so that a message posted concurrently is either seen here or restarts run().
bool PointToPoint::stopWhenDone() {
  if (hasPending()) return false;
  const std::lock_guard lock(mutex_);
  if (!posted_.empty()) return false;
  connections_.mesh().sendMessageWait(std::nullopt);
  busy_.store(false, std::memory_order_release);
  return true;
}

void PointToPoint::beginSend(Posted posted) {
  const std::uint64_t id = ++sent_;
  ++sentTo_[posted.message.peer()];
  Posted& send = sends_.emplace(id, std::move(posted)).first->second;
  Outgoing& to = outgoingTo(send);
  if (!to.delayed.empty()) {
    to.delayed.push_back(id);  // messages keep their order
  } else if (to.credits == 0 || !isShort(send.message.fingerprint)) {
    request(to, id, send);
  } else {
    --to.credits;
    if (!to.channel.isOpen()) finishEarly(send);
    to.channel.enqueue(withElements(frameOf(PointToPointType::Eager, id, send.message), send.message));
  }
}

// A receiver answers a new connection when it next waits for other ranks. The caller does not wait for that: its next
// operation may be the one for which the receiver waits.
void PointToPoint::finishEarly(Posted& send) {
  const auto* const elements = static_cast<const std::uint8_t*>(send.message.data);
  send.copy.assign(elements, elements + send.message.fingerprint.bytes());
  send.message.data = send.copy.data();
  send.deadline = Deadline::after(std::max(send.message.timeoutMs, kDefaultTimeoutMs));
  send.isFinishedEarly = true;
  const auto done = std::exchange(send.message.done, [](std::optional<OperationFailure>, int) {});
  done(std::nullopt, static_cast<int>(send.message.peer()));
}

void PointToPoint::request(Outgoing& to, std::uint64_t id, Posted& send) {
  if (to.requests >= kMaxRequestsToSend) {
    to.delayed.push_back(id);
    return;
  }
  ++to.requests;
  send.isRequested = true;
  to.channel.enqueue(frameOf(PointToPointType::RequestToSend, id, send.message));
}

// Enqueues the elements, and the request of the next delayed message.
void PointToPoint::clear(Outgoing& to, std::uint64_t id) {
  Posted& send = sends_.at(id);
  send.isRequested = false;
  --to.requests;
  to.channel.enqueue(withElements(frameOf(PointToPointType::Elements, id, send.message), send.message));
  if (to.delayed.empty()) return;
  const std::uint64_t next = to.delayed.front();
  to.delayed.pop_front();
  request(to, next, sends_.at(next));
}

void PointToPoint::beginReceive(Posted posted) {
  const auto unexpected = std::find_if(unexpected_.begin(), unexpected_.end(), [&](const UnexpectedMessage& one) {
    return !one.receive && matches(posted.message, one.from, one.header);
  });
  receives_.push_back(std::move(posted));
  if (unexpected == unexpected_.end()) return;
  checkAgreement(receives_.back(), unexpected->from, unexpected->header);
  Posted receive = std::move(receives_.back());
  receives_.pop_back();
  claim(std::move(receive), unexpected);
}

void PointToPoint::claim(Posted receive, std::list<UnexpectedMessage>::iterator unexpected) {
  const MessageId id{unexpected->from, unexpected->header.id};
  if (unexpected->header.type == PointToPointType::RequestToSend) {
    unexpected_.erase(unexpected);
    --incoming_.at(id.first).requests;
    return clearToSend(id, std::move(receive));
  }
  if (!unexpected->complete) {
    unexpected->receive = std::move(receive);
    return;
  }
  // memcpy requires valid addresses even for 0 bytes, and an empty vector may have none.
  const auto& elements = unexpected->elements;
  if (!elements.empty()) std::memcpy(receive.message.data, elements.data(), elements.size());
  unexpected_.erase(unexpected);
  credit(id.first);
  receive.message.done(std::nullopt, id.first);
}

// An eager message has been received: its sender may send another one.
void PointToPoint::credit(int peer) {
  Incoming& from = incoming_.at(peer);
  if (++from.received < kCreditBatch) return;
  Channel::Frame frame;
  frame.header.type = PointToPointType::Credit;
  frame.header.id = from.received;
  from.channel.enqueue(frame);
  from.uncredited -= from.received;
  from.received = 0;
}

void PointToPoint::clearToSend(MessageId id, Posted receive) {
  const Channel::Frame frame = frameOf(PointToPointType::ClearToSend, id.second, receive.message);
  arriving_.emplace(id, std::move(receive));
  incoming_.at(id.first).channel.enqueue(frame);
}

PointToPoint::Outgoing& PointToPoint::outgoingTo(const Posted& send) {
  const int peer = static_cast<int>(send.message.peer());
  const auto known = outgoing_.find(peer);
  if (known != outgoing_.end()) return known->second;
  return outgoing_.emplace(peer, Outgoing{Dialling(connections_.directory(), peer, Purpose::PointToPoint)}).first->second;
}

// Returns true if the channel has opened.
bool PointToPoint::connectTo(int peer, Outgoing& to) {
  const auto isToPeer = [&](const auto& one) { return one.second.message.peer() == static_cast<std::uint32_t>(peer); };
  const auto send = std::find_if(sends_.begin(), sends_.end(), isToPeer);
  if (send == sends_.end()) return false;
  const Call call{send->second.message.fingerprint, send->second.deadline, cancelled_, reports_};
  try {
    Link connection = to.dialling.advance(call);
    if (!connection) return false;
    to.channel.open(std::move(connection));
    return true;
  } catch (const Failure& failure) {
    fail(send->second, failure);
  }
}

bool PointToPoint::advance() {
  bool moved = acceptConnections();
  for (auto& [peer, to] : outgoing_) moved |= advanceSends(peer, to);
  for (auto& [peer, from] : incoming_) moved |= advanceReceives(peer, from);
  return moved;
}

// Any rank may connect to send its first message.
bool PointToPoint::mayBeDialled() const { return incoming_.size() + 1 < sentTo_.size(); }

bool PointToPoint::acceptConnections() {
  bool admitted = false;
  int peer = -1;
  Link link;
  if (mayBeDialled()) connections_.acceptor().advance();
  while (connections_.acceptor().takeAny(Purpose::PointToPoint, peer, link)) {
    incoming_.emplace(peer, Incoming{Channel(std::move(link))});
    admitted = true;
  }
  return admitted;
}

// The channel carries messages in this direction and clear-to-send replies in the other.
bool PointToPoint::advanceSends(int peer, Outgoing& to) {
  if (!to.channel.isOpen() && !connectTo(peer, to)) return false;
  const Channel::Reader replies{
      [&](const PointToPointHeader& header) { return violationInReply(peer, to, header); },
      [](const PointToPointHeader&) { return nullptr; },
      [&](const PointToPointHeader& header) {
        if (header.type == PointToPointType::ClearToSend) return clear(to, header.id);
        to.credits += static_cast<std::uint32_t>(header.id);
      }};
  const bool read = to.channel.read(replies);
  const bool wrote = to.channel.write([&](const PointToPointHeader& header) {
    if (header.type != PointToPointType::RequestToSend) finishSend(header.id);
  });
  return read || wrote;
}

const char* PointToPoint::violationInReply(int peer, const Outgoing& to, const PointToPointHeader& header) const {
  if (header.type == PointToPointType::Credit) {
    return header.id <= kEagerCredits - to.credits ? nullptr : "it returned credits that this rank had not used";
  }
  if (header.type != PointToPointType::ClearToSend) return "it replied with a message of unknown type";
  const auto send = sends_.find(header.id);
  const bool isAwaited =
      send != sends_.end() && send->second.isRequested && send->second.message.peer() == static_cast<std::uint32_t>(peer);
  return isAwaited ? nullptr : "it requested elements of a message that this rank had not announced";
}

bool PointToPoint::advanceReceives(int peer, Incoming& from) {
  const Channel::Reader messages{
      [&](const PointToPointHeader& header) { return violationInMessage(peer, from, header); },
      [&](const PointToPointHeader& header) { return beginReading(peer, header); },
      [&](const PointToPointHeader& header) { endReading(peer, header); }};
  const bool read = from.channel.read(messages);
  const bool wrote = from.channel.write([](const PointToPointHeader&) {});
  return read || wrote;
}

const char* PointToPoint::violationInMessage(int peer, const Incoming& from, const PointToPointHeader& header) const {
  const bool isNew = header.fingerprint.op == Op::Send && header.id > from.lastId;
  switch (header.type) {
    case PointToPointType::Eager:
      if (!isNew) return "it sent a message that is not numbered after its last one";
      if (!isShort(header.fingerprint)) return "it sent a message of more than 16 KiB without a request";
      return from.uncredited < kEagerCredits ? nullptr : "it sent more short messages than it had credits for";
    case PointToPointType::RequestToSend:
      if (!isNew) return "it sent a message that is not numbered after its last one";
      return from.requests < kMaxRequestsToSend ? nullptr : "it announced too many messages";
    case PointToPointType::Elements: {
      const auto receive = arriving_.find({peer, header.id});
      if (receive == arriving_.end()) return "it sent elements that this rank had not requested";
      const bool fits = isAlike(receive->second.message.fingerprint, header.fingerprint);
      return fits ? nullptr : "it sent other elements than it had announced";
    }
    default: return "it sent a message of unknown type";
  }
}

// Address for the elements of an arriving message: those of the matching receive, or a new buffer if it is
// unexpected.
void* PointToPoint::beginReading(int peer, const PointToPointHeader& header) {
  const MessageId id{peer, header.id};
  if (header.type == PointToPointType::Elements) {
    return arriving_.at(id).message.data;
  }
  Incoming& from = incoming_.at(peer);
  from.lastId = header.id;
  ++announcedFrom_[static_cast<std::size_t>(peer)];
  if (header.type == PointToPointType::Eager) ++from.uncredited;
  auto receive = takeMatchingReceive(peer, header);
  if (receive && header.type == PointToPointType::Eager) return arriving_.emplace(id, std::move(*receive)).first->second.message.data;
  if (receive) {
    clearToSend(id, std::move(*receive));
    return nullptr;
  }
  const bool complete = header.type == PointToPointType::RequestToSend;
  if (complete) ++from.requests;
  unexpected_.push_back({peer, header, std::vector<std::uint8_t>(bodyBytesOf(header)), complete, {}});
  return unexpected_.back().elements.data();
}

void PointToPoint::endReading(int peer, const PointToPointHeader& header) {
  const MessageId id{peer, header.id};
  if (header.type == PointToPointType::RequestToSend) return;
  if (arriving_.count(id) != 0) {
    if (header.type == PointToPointType::Eager) credit(peer);
    return finishReceive(id);
  }
  const auto unexpected = std::find_if(unexpected_.begin(), unexpected_.end(), [&](const UnexpectedMessage& one) {
    return one.from == peer && one.header.id == header.id;
  });
  unexpected->complete = true;
  if (!unexpected->receive) return;
  Posted receive = std::move(*unexpected->receive);
  claim(std::move(receive), unexpected);
}

std::optional<PointToPoint::Posted> PointToPoint::takeMatchingReceive(int peer, const PointToPointHeader& header) {
  const auto receive = std::find_if(receives_.begin(), receives_.end(),
                                    [&](const Posted& one) { return matches(one.message, peer, header); });
  if (receive == receives_.end()) return std::nullopt;
  checkAgreement(*receive, peer, header);
  std::optional<Posted> taken = std::move(*receive);
  receives_.erase(receive);
  return taken;
}

void PointToPoint::finishSend(std::uint64_t id) {
  const auto send = sends_.find(id);
  const Posted done = std::move(send->second);
  sends_.erase(send);
  done.message.done(std::nullopt, static_cast<int>(done.message.peer()));
}

void PointToPoint::finishReceive(MessageId id) {
  const auto receive = arriving_.find(id);
  const Posted done = std::move(receive->second);
  arriving_.erase(receive);
  done.message.done(std::nullopt, id.first);
}

void PointToPoint::wait() {
  std::vector<pollfd> interests{{notifier_.fd(), POLLIN, 0}};
  Milliseconds timeout = kLivenessInterval;
  for (const auto& [_, to] : outgoing_) {
    if (to.channel.isOpen()) {
      to.channel.addInterest(interests);
    } else {
      to.dialling.addInterest(interests);
      timeout = to.dialling.pauseWithin(timeout);
    }
  }
  for (const auto& [_, from] : incoming_) from.channel.addInterest(interests);
  connections_.mesh().addInterests(interests, mayBeDialled());
  visitPending([&](const Posted& posted) { timeout = posted.deadline.leftWithin(timeout); });
  pollSockets(interests.data(), interests.size(), timeout);
}

void PointToPoint::checkWhileWaiting() {
  connections_.mesh().receive();
  acceptConnections();
  visitPending([&](const Posted& posted) { throwIfEnded(posted); });
  reportOldest();
}

const PointToPoint::Posted* PointToPoint::oldest(int& pending) {
  const Posted* found = nullptr;
  visitPending([&](const Posted& posted) {
    if (posted.isFinishedEarly) return;
    ++pending;
    if (found == nullptr || posted.deadline.since() < found->deadline.since()) found = &posted;
  });
  return found;
}

// Announces and reports one message for all, because messages that wait for each other would repeat it.
void PointToPoint::reportOldest() {
  int pending = 0;
  const Posted* const first = oldest(pending);
  if (first == nullptr) return;
  ControlMesh& mesh = connections_.mesh();
  const Clock::time_point since = first->deadline.since();
  const auto waited = Clock::now() - since;
  mesh.sendMessageWait(waited >= kLivenessInterval ? std::optional(first->message.fingerprint) : std::nullopt);
  if (!reports_.isDue(since, waited)) return;
  std::vector<WaitReports::Missing> awaited;
  for (const int peer : peersAwaitedBy(*first)) awaited.push_back({peer, mesh.describePeer(peer, 0, {})});
  const std::string more = pending == 1 ? "" : "; " + std::to_string(pending - 1) + " more messages are waiting";
  reports_.write(rank_, {first->message.fingerprint, first->deadline, cancelled_, reports_}, awaited, more);
}

void PointToPoint::throwIfEnded(const Posted& posted) {
  const ControlMesh& mesh = connections_.mesh();
  try {
    mesh.throwIfFailedBy(std::numeric_limits<std::uint64_t>::max());
    for (const int one : peersAwaitedBy(posted)) {
      const bool mayHaveLeft = posted.message.peer() == kAnyRank && mesh.hasLeft(one);
      if (!mayHaveLeft && canReceiveNothingFrom(one)) throw mesh.endFailure(one);
      throwIfViolated(one);
    }
    if (posted.deadline.passed()) throw timeoutOf(posted);
    throwIfTimedOutOrCancelled({posted.message.fingerprint, posted.deadline, cancelled_, reports_}, rank_, "");
  } catch (const Failure& failure) {
    fail(posted, failure);
  }
}

std::vector<int> PointToPoint::peersAwaitedBy(const Posted& posted) const {
  if (posted.message.peer() != kAnyRank) return {static_cast<int>(posted.message.peer())};
  std::vector<int> others;
  for (int rank = 0; rank < connections_.size(); ++rank) {
    if (rank != rank_) others.push_back(rank);
  }
  return others;
}

Failure PointToPoint::timeoutOf(const Posted& posted) const {
  std::vector<InvolvedRank> silent;
  const ControlMesh& mesh = connections_.mesh();
  for (const int peer : peersAwaitedBy(posted)) silent.push_back({peer, mesh.lastSeenIn(peer)});
  if (posted.message.fingerprint.op != Op::Send) {
    return {FailureCode::Timeout, mesh.missingBehind(silent), "no message with this tag was sent"};
  }
  const auto to = outgoing_.find(static_cast<int>(posted.message.peer()));
  const std::string problem = to == outgoing_.end() ? "" : to->second.dialling.lastProblem();
  return {FailureCode::Timeout, mesh.missingBehind(silent), "it was not received" + (problem.empty() ? "" : "; " + problem)};
}

// True if the peer has ended and everything it sent has been read.
bool PointToPoint::canReceiveNothingFrom(int peer) const {
  if (!connections_.mesh().hasEnded(peer)) return false;
  if (connections_.mesh().isSilent(peer)) return true;
  const auto from = incoming_.find(peer);
  return from == incoming_.end() || from->second.channel.hasEnded();
}

void PointToPoint::throwIfViolated(int peer) const {
  const auto check = [&](const auto& connections) {
    const auto found = connections.find(peer);
    if (found == connections.end()) return;
    if (found->second.channel.isAltered()) {
      throw Failure(FailureCode::Altered, {{peer, {}}}, describeAltered("point-to-point", connections_.directory(), peer));
    }
    if (!found->second.channel.isViolated()) return;
    throw Failure(FailureCode::PeerDied, {{peer, connections_.mesh().lastSeenIn(peer)}}, found->second.channel.endReason());
  };
  check(outgoing_);
  check(incoming_);
}

void PointToPoint::checkAgreement(const Posted& receive, int peer, const PointToPointHeader& header) {
  const Fingerprint& mine = receive.message.fingerprint;
  const Fingerprint& theirs = header.fingerprint;
  if (isAlike(mine, theirs)) return;
  fail(receive, Failure(FailureCode::Mismatch, {{rank_, mine}, {peer, theirs}},
                        "a message and its receive have different dtypes or lengths"));
}

void PointToPoint::fail(const Posted& posted, const Failure& failure) {
  failedFingerprint_ = posted.message.fingerprint;
  failedTimeoutMs_ = posted.message.timeoutMs;
  throw Failure(failure);
}

bool PointToPoint::hasPending() {
  bool any = false;
  visitPending([&](const Posted&) { any = true; });
  return any;
}

template <typename Visit>
void PointToPoint::visitPending(Visit visit) {
  for (const auto& [_, send] : sends_) visit(send);
  for (const auto& receive : receives_) visit(receive);
  for (const auto& [_, receive] : arriving_) visit(receive);
  for (const auto& unexpected : unexpected_) {
    if (unexpected.receive) visit(*unexpected.receive);
  }
}

bool PointToPoint::hasUnseenPosts() {
  const std::lock_guard lock(mutex_);
  return isAccepting_ || !posted_.empty();
}

bool PointToPoint::hasReceived(const std::vector<std::uint64_t>& sentFrom) {
  const bool completes = std::any_of(unexpected_.begin(), unexpected_.end(), [](const auto& one) { return one.receive.has_value(); });
  return announcedFrom_ == sentFrom && arriving_.empty() && !completes;
}

void PointToPoint::endReceives(const Failure& failure) {
  std::list<Posted> ended;
  ended.swap(receives_);
  for (const auto& posted : ended) endOne(posted, failure);
}

void PointToPoint::endSends(const Failure& failure) {
  std::map<std::uint64_t, Posted> ended;
  ended.swap(sends_);
  for (const auto& [_, posted] : ended) endOne(posted, failure);
}

void PointToPoint::endOne(const Posted& posted, const Failure& failure) {
  posted.message.done(OperationFailure{failure, posted.message.fingerprint, posted.message.timeoutMs}, -1);
}

void PointToPoint::end(const OperationFailure& failure) {
  ended_ = failure;
  isAccepting_ = false;
  visitPending([&](const Posted& posted) { posted.message.done(failure, -1); });
  sends_.clear();
  receives_.clear();
  arriving_.clear();
  unexpected_.clear();
  outgoing_.clear();
  incoming_.clear();
  do {
    acceptPosted();
  } while (!stopWhenDone());
}

}  // namespace ringrun
