#include "point_to_point/mailbox.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/usable_cpus.h"
#include "base/wait.h"
#include "transport/connect/dial.h"

namespace ringrun {
namespace {

// Small enough to keep many unrequested messages; a longer one is worth a round trip.
constexpr std::size_t kEagerMessageBytes = 16 * 1024;

// Rounds without progress before sleeping: some 20 µs, when every rank may have a processor of its own.
constexpr int kSpins = 20;

bool matches(const Letter& receive, int from, const NoteHeader& header) {
  const bool fromThere = receive.peer() == kAnyRank || receive.peer() == static_cast<std::uint32_t>(from);
  return fromThere && receive.tag() == header.fingerprint.sequence;
}

}  // namespace

Mailbox::Mailbox(Connections& connections, const std::atomic<bool>& cancelled, const WaitReports& reports)
    : connections_(connections),
      cancelled_(cancelled),
      reports_(reports),
      rank_(connections.rank()),
      spins_(connections.size() <= usableCpus() ? kSpins : 0) {}

bool Mailbox::post(Letter letter) {
  const std::lock_guard lock(mutex_);
  inbox_.push_back(std::move(letter));
  if (!busy_.exchange(true)) return true;
  bell_.ring();
  return false;
}

void Mailbox::run() {
  int idle = 0;
  for (;;) {
    takeLetters();
    const bool advanced = advance();
    if (restWhenDone()) return;
    if (advanced) {
      idle = 0;
    } else if (++idle > spins_) {
      wait();
      throwIfHopeless();
    }
  }
}

void Mailbox::takeLetters() {
  bell_.clear();
  std::vector<Letter> letters;
  {
    const std::lock_guard lock(mutex_);
    letters.swap(inbox_);
  }
  for (auto& letter : letters) {
    const double timeoutMs = letter.timeoutMs;
    Posted posted{std::move(letter), Deadline::after(timeoutMs)};
    if (ended_) {
      posted.letter.done(ended_, -1);
    } else if (posted.letter.fingerprint.op == Op::Send) {
      beginSend(std::move(posted));
    } else {
      beginReceive(std::move(posted));
    }
  }
}

// Under the lock, so that a letter posted now either is seen here or finds no thread running.
bool Mailbox::restWhenDone() {
  if (hasLetters()) return false;
  const std::lock_guard lock(mutex_);
  if (!inbox_.empty()) return false;
  busy_.store(false, std::memory_order_release);
  return true;
}

void Mailbox::beginSend(Posted posted) {
  Channel::Frame frame;
  frame.header.fingerprint = posted.letter.fingerprint;
  frame.header.id = ++sent_;
  const bool eager = posted.letter.fingerprint.bytes() <= kEagerMessageBytes;
  frame.header.type = eager ? NoteType::Eager : NoteType::Announce;
  if (eager) {
    frame.data = posted.letter.data;
    frame.bytes = posted.letter.fingerprint.bytes();
  }
  const auto [place, _] = sends_.emplace(sent_, std::move(posted));
  channelTo(place->second).enqueue(frame);
}

void Mailbox::beginReceive(Posted posted) {
  const auto message = std::find_if(unclaimed_.begin(), unclaimed_.end(), [&](const Message& one) {
    return !one.receive && matches(posted.letter, one.from, one.header);
  });
  receives_.push_back(std::move(posted));
  if (message == unclaimed_.end()) return;
  checkAgreement(receives_.back(), message->from, message->header);
  Posted receive = std::move(receives_.back());
  receives_.pop_back();
  claim(std::move(receive), message);
}

void Mailbox::claim(Posted receive, std::list<Message>::iterator message) {
  const MessageId id{message->from, message->header.id};
  if (message->header.type == NoteType::Announce) {
    unclaimed_.erase(message);
    return grant(id, std::move(receive));
  }
  if (!message->complete) {
    message->receive = std::move(receive);
    return;
  }
  // No elements have no address, and memcpy must not be given that even for no bytes.
  const auto& elements = message->elements;
  if (!elements.empty()) std::memcpy(receive.letter.data, elements.data(), elements.size());
  unclaimed_.erase(message);
  receive.letter.done(std::nullopt, id.first);
}

void Mailbox::grant(MessageId id, Posted receive) {
  Channel::Frame frame;
  frame.header.type = NoteType::Grant;
  frame.header.fingerprint = receive.letter.fingerprint;
  frame.header.id = id.second;
  granted_.emplace(id, std::move(receive));
  incoming_.at(id.first).enqueue(frame);
}

Channel& Mailbox::channelTo(const Posted& send) {
  const int peer = static_cast<int>(send.letter.peer());
  const auto known = outgoing_.find(peer);
  if (known != outgoing_.end()) return known->second;
  const Call call{send.letter.fingerprint, send.deadline, cancelled_, reports_};
  try {
    return outgoing_.emplace(peer, dial(connections_.directory(), peer, Purpose::PointToPoint, call)).first->second;
  } catch (const Failure& failure) {
    fail(send, failure);
  }
}

bool Mailbox::advance() {
  bool moved = admitCallers();
  for (auto& [peer, channel] : outgoing_) moved |= advanceSends(peer, channel);
  for (auto& [peer, channel] : incoming_) moved |= advanceReceives(peer, channel);
  return moved;
}

bool Mailbox::admitCallers() {
  bool admitted = false;
  int peer = -1;
  UniqueFd fd;
  connections_.acceptor().advance();
  while (connections_.acceptor().takeAny(Purpose::PointToPoint, peer, fd)) {
    incoming_.emplace(peer, Channel(std::move(fd)));
    admitted = true;
  }
  return admitted;
}

// Notes go out, grants come back.
bool Mailbox::advanceSends(int, Channel& channel) {
  const Channel::Reader grants{
      [](const NoteHeader&) { return nullptr; },
      [&](const NoteHeader& header) {
        const auto send = sends_.find(header.id);
        if (header.type != NoteType::Grant || send == sends_.end()) return;
        Channel::Frame frame;
        frame.header.type = NoteType::Elements;
        frame.header.fingerprint = send->second.letter.fingerprint;
        frame.header.id = header.id;
        frame.data = send->second.letter.data;
        frame.bytes = send->second.letter.fingerprint.bytes();
        channel.enqueue(frame);
      }};
  const bool read = channel.read(grants);
  const bool wrote = channel.write([&](const NoteHeader& header) {
    if (header.type != NoteType::Announce) finishSend(header.id);
  });
  return read || wrote;
}

bool Mailbox::advanceReceives(int peer, Channel& channel) {
  const Channel::Reader notes{[&](const NoteHeader& header) { return beginReading(peer, header); },
                              [&](const NoteHeader& header) { endReading(peer, header); }};
  const bool read = channel.read(notes);
  const bool wrote = channel.write([](const NoteHeader&) {});
  return read || wrote;
}

// Where the elements of a message go that begins to arrive: to whom has asked for it, or into memory of its own.
void* Mailbox::beginReading(int peer, const NoteHeader& header) {
  const MessageId id{peer, header.id};
  if (header.type == NoteType::Elements) {
    const auto receive = granted_.find(id);
    if (receive != granted_.end()) return receive->second.letter.data;
    throw Failure(FailureCode::PeerDied, {{peer, {}}}, "it sent elements that this rank had not requested");
  }
  auto receive = takeReceiveFor(peer, header);
  if (receive && header.type == NoteType::Eager) return granted_.emplace(id, std::move(*receive)).first->second.letter.data;
  if (receive) {
    grant(id, std::move(*receive));
    return nullptr;
  }
  const bool complete = header.type == NoteType::Announce;
  unclaimed_.push_back({peer, header, std::vector<std::uint8_t>(bodyBytesOf(header)), complete, {}});
  return unclaimed_.back().elements.data();
}

void Mailbox::endReading(int peer, const NoteHeader& header) {
  const MessageId id{peer, header.id};
  if (header.type == NoteType::Announce) return;
  if (granted_.count(id) != 0) return finishReceive(id);
  const auto message = std::find_if(unclaimed_.begin(), unclaimed_.end(), [&](const Message& one) {
    return one.from == peer && one.header.id == header.id;
  });
  message->complete = true;
  if (!message->receive) return;
  Posted receive = std::move(*message->receive);
  claim(std::move(receive), message);
}

std::optional<Mailbox::Posted> Mailbox::takeReceiveFor(int peer, const NoteHeader& header) {
  const auto receive = std::find_if(receives_.begin(), receives_.end(),
                                    [&](const Posted& one) { return matches(one.letter, peer, header); });
  if (receive == receives_.end()) return std::nullopt;
  checkAgreement(*receive, peer, header);
  std::optional<Posted> taken = std::move(*receive);
  receives_.erase(receive);
  return taken;
}

void Mailbox::finishSend(std::uint64_t id) {
  const auto send = sends_.find(id);
  const Posted done = std::move(send->second);
  sends_.erase(send);
  done.letter.done(std::nullopt, static_cast<int>(done.letter.peer()));
}

void Mailbox::finishReceive(MessageId id) {
  const auto receive = granted_.find(id);
  const Posted done = std::move(receive->second);
  granted_.erase(receive);
  done.letter.done(std::nullopt, id.first);
}

void Mailbox::wait() {
  std::vector<pollfd> interests{{bell_.fd(), POLLIN, 0}};
  for (const auto& [_, channel] : outgoing_) channel.addInterest(interests);
  for (const auto& [_, channel] : incoming_) channel.addInterest(interests);
  connections_.acceptor().addInterests(interests);
  connections_.mesh().addInterests(interests);
  Milliseconds patience = kLivenessInterval;
  visitLetters([&](const Posted& posted) { patience = posted.deadline.leftWithin(patience); });
  pollSockets(interests.data(), interests.size(), patience);
}

void Mailbox::throwIfHopeless() {
  connections_.mesh().receive();
  admitCallers();
  visitLetters([&](const Posted& posted) { throwIfEnded(posted); });
  reportOldest();
}

// One line for all messages: those that wait behind one another would each have one.
void Mailbox::reportOldest() {
  const Posted* oldest = nullptr;
  int others = -1;
  visitLetters([&](const Posted& posted) {
    ++others;
    if (oldest == nullptr || posted.deadline.since() < oldest->deadline.since()) oldest = &posted;
  });
  if (oldest == nullptr) return;
  const Clock::time_point since = oldest->deadline.since();
  if (!reports_.isDue(since, Clock::now() - since)) return;
  std::vector<WaitReports::Missing> awaited;
  for (const int peer : awaitedBy(*oldest)) awaited.push_back({peer, connections_.mesh().whereaboutsOf(peer, 0, {})});
  const std::string more = others == 0 ? "" : "; " + std::to_string(others) + " more messages are waiting";
  reports_.write(rank_, {oldest->letter.fingerprint, oldest->deadline, cancelled_, reports_}, awaited, more);
}

void Mailbox::throwIfEnded(const Posted& posted) {
  const ControlMesh& mesh = connections_.mesh();
  try {
    mesh.throwIfFailedBy(std::numeric_limits<std::uint64_t>::max());
    for (const int one : awaitedBy(posted)) {
      const bool mayHaveLeft = posted.letter.peer() == kAnyRank && mesh.hasLeft(one);
      if (!mayHaveLeft && nothingComesFrom(one)) throw mesh.whyEnded(one);
    }
    if (posted.deadline.passed()) throw timeoutOf(posted);
    throwIfOver({posted.letter.fingerprint, posted.deadline, cancelled_, reports_}, rank_, "");
  } catch (const Failure& failure) {
    fail(posted, failure);
  }
}

std::vector<int> Mailbox::awaitedBy(const Posted& posted) const {
  if (posted.letter.peer() != kAnyRank) return {static_cast<int>(posted.letter.peer())};
  std::vector<int> others;
  for (int rank = 0; rank < connections_.size(); ++rank) {
    if (rank != rank_) others.push_back(rank);
  }
  return others;
}

Failure Mailbox::timeoutOf(const Posted& posted) const {
  std::vector<InvolvedRank> silent;
  for (const int peer : awaitedBy(posted)) silent.push_back({peer, connections_.mesh().lastStatusOf(peer)});
  const bool sends = posted.letter.fingerprint.op == Op::Send;
  return {FailureCode::Timeout, std::move(silent), sends ? "it was not received" : "no message with this tag was sent"};
}

// Its end is known, and what it sent before has been read.
bool Mailbox::nothingComesFrom(int peer) const {
  if (!connections_.mesh().hasEnded(peer)) return false;
  const auto channel = incoming_.find(peer);
  return channel == incoming_.end() || channel->second.hasEnded();
}

void Mailbox::checkAgreement(const Posted& receive, int peer, const NoteHeader& header) {
  const Fingerprint& mine = receive.letter.fingerprint;
  const Fingerprint& theirs = header.fingerprint;
  if (mine.dtype == theirs.dtype && mine.count == theirs.count) return;
  fail(receive, Failure(FailureCode::Mismatch, {{rank_, mine}, {peer, theirs}},
                        "a message and its receive have different dtypes or lengths"));
}

void Mailbox::fail(const Posted& posted, const Failure& failure) {
  failedFingerprint_ = posted.letter.fingerprint;
  failedTimeoutMs_ = posted.letter.timeoutMs;
  throw Failure(failure);
}

bool Mailbox::hasLetters() {
  bool any = false;
  visitLetters([&](const Posted&) { any = true; });
  return any;
}

template <typename Visit>
void Mailbox::visitLetters(Visit visit) {
  for (const auto& [_, send] : sends_) visit(send);
  for (const auto& receive : receives_) visit(receive);
  for (const auto& [_, receive] : granted_) visit(receive);
  for (const auto& message : unclaimed_) {
    if (message.receive) visit(*message.receive);
  }
}

void Mailbox::end(const OperationFailure& failure) {
  ended_ = failure;
  visitLetters([&](const Posted& posted) { posted.letter.done(failure, -1); });
  sends_.clear();
  receives_.clear();
  granted_.clear();
  unclaimed_.clear();
  outgoing_.clear();
  incoming_.clear();
  do {
    takeLetters();
  } while (!restWhenDone());
}

}  // namespace ringrun
