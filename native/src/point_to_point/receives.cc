#include "point_to_point/receives.h"

#include <algorithm>
#include <cstring>

#include "point_to_point/frames.h"

namespace ringrun {
namespace {

bool isAlike(const Fingerprint& one, const Fingerprint& other) { return one.dtype == other.dtype && one.count == other.count; }

bool matches(const Message& receive, int from, const PointToPointHeader& header) {
  const bool fromThere = receive.peer() == kAnyRank || receive.peer() == static_cast<std::uint32_t>(from);
  return fromThere && receive.tag() == header.fingerprint.sequence;
}

}  // namespace

Receives::Receives(Connections& connections)
    : connections_(connections), announcedFrom_(static_cast<std::size_t>(connections.size())) {}

void Receives::begin(Posted posted) {
  const auto message = std::find_if(unexpected_.begin(), unexpected_.end(), [&](const UnexpectedMessage& one) {
    return !one.receive && matches(posted.message, one.from, one.header);
  });
  unmatched_.push_back(std::move(posted));
  if (message == unexpected_.end()) return;
  requireAgreement(unmatched_.back(), message->from, message->header);
  Posted receive = std::move(unmatched_.back());
  unmatched_.pop_back();
  claim(std::move(receive), message);
}

void Receives::claim(Posted receive, std::list<UnexpectedMessage>::iterator message) {
  const MessageId id{message->from, message->header.id};
  if (message->header.type == PointToPointType::RequestToSend) {
    unexpected_.erase(message);
    --incoming_.at(id.first).requests;
    return clearToSend(id, std::move(receive));
  }
  if (!message->complete) {
    message->receive = std::move(receive);
    return;
  }
  // memcpy requires valid addresses even for 0 bytes, and an empty vector may have none.
  const auto& elements = message->elements;
  if (!elements.empty()) std::memcpy(receive.message.data, elements.data(), elements.size());
  unexpected_.erase(message);
  credit(id.first);
  receive.message.done(std::nullopt, id.first);
}

// An eager message has been received: its sender may send another one.
void Receives::credit(int peer) {
  Incoming& from = incoming_.at(peer);
  if (++from.received < kCreditBatch) return;
  Channel::Frame frame;
  frame.header.type = PointToPointType::Credit;
  frame.header.id = from.received;
  from.channel.enqueue(frame);
  from.uncredited -= from.received;
  from.received = 0;
}

void Receives::clearToSend(MessageId id, Posted receive) {
  const Channel::Frame frame = frameOf(PointToPointType::ClearToSend, id.second, receive.message);
  arriving_.emplace(id, std::move(receive));
  incoming_.at(id.first).channel.enqueue(frame);
}

bool Receives::acceptConnections() {
  bool admitted = false;
  int peer = -1;
  Link link;
  Acceptor& acceptor = connections_.acceptor();
  if (mayBeDialled()) acceptor.advance();
  while (acceptor.takeAny(Purpose::PointToPoint, peer, link)) {
    incoming_.emplace(peer, Incoming{Channel(std::move(link))});
    admitted = true;
  }
  return admitted;
}

bool Receives::advance() {
  bool moved = false;
  for (auto& [peer, from] : incoming_) moved |= advance(peer, from);
  return moved;
}

bool Receives::advance(int peer, Incoming& from) {
  const Channel::Reader messages{
      [&](const PointToPointHeader& header) { return violationInMessage(peer, from, header); },
      [&](const PointToPointHeader& header) { return beginReading(peer, header); },
      [&](const PointToPointHeader& header) { endReading(peer, header); }};
  const bool read = from.channel.read(messages);
  const bool wrote = from.channel.write([](const PointToPointHeader&) {});
  return read || wrote;
}

const char* Receives::violationInMessage(int peer, const Incoming& from, const PointToPointHeader& header) const {
  const bool isNew = header.fingerprint.op == Op::Send && header.id > from.lastId;
  switch (header.type) {
    case PointToPointType::Eager:
      if (!isNew) return "it sent a message whose number does not follow the last one";
      if (!isShort(header.fingerprint)) return "it sent a message of more than 16 KiB without a request";
      return from.uncredited < kEagerCredits ? nullptr : "it sent more short messages than it had credits for";
    case PointToPointType::RequestToSend:
      if (!isNew) return "it sent a message whose number does not follow the last one";
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
void* Receives::beginReading(int peer, const PointToPointHeader& header) {
  const MessageId id{peer, header.id};
  if (header.type == PointToPointType::Elements) return arriving_.at(id).message.data;
  Incoming& from = incoming_.at(peer);
  from.lastId = header.id;
  ++announcedFrom_[static_cast<std::size_t>(peer)];
  if (header.type == PointToPointType::Eager) ++from.uncredited;
  auto receive = takeMatching(peer, header);
  if (receive && header.type == PointToPointType::Eager) {
    return arriving_.emplace(id, std::move(*receive)).first->second.message.data;
  }
  if (receive) {
    clearToSend(id, std::move(*receive));
    return nullptr;
  }
  const bool complete = header.type == PointToPointType::RequestToSend;
  if (complete) ++from.requests;
  unexpected_.push_back({peer, header, std::vector<std::uint8_t>(bodyBytesOf(header)), complete, {}});
  return unexpected_.back().elements.data();
}

void Receives::endReading(int peer, const PointToPointHeader& header) {
  const MessageId id{peer, header.id};
  if (header.type == PointToPointType::RequestToSend) return;
  if (arriving_.count(id) != 0) {
    if (header.type == PointToPointType::Eager) credit(peer);
    return finish(id);
  }
  const auto message = std::find_if(unexpected_.begin(), unexpected_.end(), [&](const UnexpectedMessage& one) {
    return one.from == peer && one.header.id == header.id;
  });
  message->complete = true;
  if (!message->receive) return;
  Posted receive = std::move(*message->receive);
  claim(std::move(receive), message);
}

std::optional<Posted> Receives::takeMatching(int peer, const PointToPointHeader& header) {
  const auto receive = std::find_if(unmatched_.begin(), unmatched_.end(),
                                    [&](const Posted& one) { return matches(one.message, peer, header); });
  if (receive == unmatched_.end()) return std::nullopt;
  requireAgreement(*receive, peer, header);
  std::optional<Posted> taken = std::move(*receive);
  unmatched_.erase(receive);
  return taken;
}

void Receives::requireAgreement(const Posted& receive, int peer, const PointToPointHeader& header) const {
  const Fingerprint& mine = receive.message.fingerprint;
  const Fingerprint& theirs = header.fingerprint;
  if (isAlike(mine, theirs)) return;
  throw MessageFailure(Failure(FailureCode::Mismatch, {{connections_.rank(), mine}, {peer, theirs}},
                               "a message and its receive have different dtypes or lengths"),
                       receive.message);
}

void Receives::finish(MessageId id) {
  const auto receive = arriving_.find(id);
  const Posted received = std::move(receive->second);
  arriving_.erase(receive);
  received.message.done(std::nullopt, id.first);
}

void Receives::addInterests(std::vector<pollfd>& interests) const {
  for (const auto& [_, from] : incoming_) from.channel.addInterest(interests);
}

bool Receives::areUnexpectedAwaited() const {
  return std::any_of(unexpected_.begin(), unexpected_.end(), [](const auto& one) { return one.receive.has_value(); });
}

bool Receives::hasReceived(const std::vector<std::uint64_t>& sentFrom) const {
  return announcedFrom_ == sentFrom && arriving_.empty() && !areUnexpectedAwaited();
}

const Channel* Receives::channelFrom(int peer) const {
  const auto from = incoming_.find(peer);
  return from == incoming_.end() ? nullptr : &from->second.channel;
}

void Receives::fail(const Failure& failure) {
  std::list<Posted> failed;
  failed.swap(unmatched_);
  for (const auto& receive : failed) receive.fail(failure);
}

void Receives::close(const OperationFailure& failure) {
  forEach([&](const Posted& posted) { posted.message.done(failure, -1); });
  unmatched_.clear();
  arriving_.clear();
  unexpected_.clear();
  incoming_.clear();
}

}  // namespace ringrun
