#include "point_to_point/sends.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "point_to_point/frames.h"

namespace ringrun {
namespace {

// Timeout of a message that is finished early, if its own is shorter.
constexpr double kUnawaitedTimeoutMs = 30 * 60 * 1000;

Channel::Frame frameWithElements(PointToPointType type, std::uint64_t id, const Message& message) {
  Channel::Frame frame = frameOf(type, id, message);
  frame.data = message.data;
  frame.bytes = message.fingerprint.bytes();
  return frame;
}

}  // namespace

Sends::Sends(const Directory& directory, const std::atomic<bool>& cancelled, WaitReports& reports)
    : directory_(directory), cancelled_(cancelled), reports_(reports), sentTo_(static_cast<std::size_t>(directory.size())) {}

void Sends::begin(Posted posted) {
  const std::uint64_t id = ++lastId_;
  ++sentTo_[posted.message.peer()];
  Send& send = sends_.emplace(id, Send{std::move(posted)}).first->second;
  const Message& message = send.posted.message;
  Outgoing& to = outgoingTo(static_cast<int>(message.peer()));
  if (!to.delayed.empty()) {
    to.delayed.push_back(id);  // messages keep their order
  } else if (to.credits == 0 || !isShort(message.fingerprint)) {
    request(to, id, send);
  } else {
    --to.credits;
    if (!to.channel.isOpen()) finishEarly(send);
    to.channel.enqueue(frameWithElements(PointToPointType::Eager, id, message));
  }
}

// A receiver answers a new connection only when it next waits for other ranks. The caller does not wait for that: its next
// operation may be the one for which the receiver waits.
void Sends::finishEarly(Send& send) {
  Message& message = send.posted.message;
  const auto* const elements = static_cast<const std::uint8_t*>(message.data);
  send.copy.assign(elements, elements + message.fingerprint.bytes());
  message.data = send.copy.data();
  send.posted.deadline = Deadline::after(std::max(message.timeoutMs, kUnawaitedTimeoutMs));
  send.posted.isAwaited = false;
  const auto done = std::exchange(message.done, [](std::optional<OperationFailure>, int) {});
  done(std::nullopt, static_cast<int>(message.peer()));
}

void Sends::request(Outgoing& to, std::uint64_t id, Send& send) {
  if (to.requests >= kMaxRequestsToSend) {
    to.delayed.push_back(id);
    return;
  }
  ++to.requests;
  send.isRequested = true;
  to.channel.enqueue(frameOf(PointToPointType::RequestToSend, id, send.posted.message));
}

// Enqueues the elements, and the request of the next delayed message.
void Sends::clear(Outgoing& to, std::uint64_t id) {
  Send& send = sends_.at(id);
  send.isRequested = false;
  --to.requests;
  to.channel.enqueue(frameWithElements(PointToPointType::Elements, id, send.posted.message));
  if (to.delayed.empty()) return;
  const std::uint64_t next = to.delayed.front();
  to.delayed.pop_front();
  request(to, next, sends_.at(next));
}

Sends::Outgoing& Sends::outgoingTo(int peer) {
  const auto known = outgoing_.find(peer);
  if (known != outgoing_.end()) return known->second;
  return outgoing_.emplace(peer, Outgoing{Dialling(directory_, peer, Purpose::PointToPoint)}).first->second;
}

// Returns true if the channel has opened.
bool Sends::connect(int peer, Outgoing& to) {
  const auto isToPeer = [&](const auto& one) {
    return one.second.posted.message.peer() == static_cast<std::uint32_t>(peer);
  };
  const auto send = std::find_if(sends_.begin(), sends_.end(), isToPeer);
  if (send == sends_.end()) return false;
  const Posted& first = send->second.posted;
  const Call call{first.message.fingerprint, first.deadline, cancelled_, reports_};
  try {
    Link connection = to.dialling.advance(call);
    if (!connection) return false;
    to.channel.open(std::move(connection));
    return true;
  } catch (const Failure& failure) {
    throw MessageFailure(failure, first.message);
  }
}

bool Sends::advance() {
  bool moved = false;
  for (auto& [peer, to] : outgoing_) moved |= advance(peer, to);
  return moved;
}

bool Sends::advance(int peer, Outgoing& to) {
  if (!to.channel.isOpen() && !connect(peer, to)) return false;
  const Channel::Reader replies{
      [&](const PointToPointHeader& header) { return violationInReply(peer, to, header); },
      [](const PointToPointHeader&) { return nullptr; },
      [&](const PointToPointHeader& header) {
        if (header.type == PointToPointType::ClearToSend) return clear(to, header.id);
        to.credits += static_cast<std::uint32_t>(header.id);
      }};
  const bool read = to.channel.read(replies);
  const bool wrote = to.channel.write([&](const PointToPointHeader& header) {
    if (header.type != PointToPointType::RequestToSend) finish(header.id);
  });
  return read || wrote;
}

const char* Sends::violationInReply(int peer, const Outgoing& to, const PointToPointHeader& header) const {
  if (header.type == PointToPointType::Credit) {
    return header.id <= kEagerCredits - to.credits ? nullptr : "it returned credits that this rank had not used";
  }
  if (header.type != PointToPointType::ClearToSend) return "it replied with a message of unknown type";
  const auto send = sends_.find(header.id);
  const bool isRequested = send != sends_.end() && send->second.isRequested &&
                           send->second.posted.message.peer() == static_cast<std::uint32_t>(peer);
  return isRequested ? nullptr : "it requested elements of a message that this rank had not announced";
}

void Sends::finish(std::uint64_t id) {
  const auto send = sends_.find(id);
  const Send sent = std::move(send->second);
  sends_.erase(send);
  const Message& message = sent.posted.message;
  message.done(std::nullopt, static_cast<int>(message.peer()));
}

Milliseconds Sends::addInterests(std::vector<pollfd>& interests, Milliseconds timeout) const {
  for (const auto& [_, to] : outgoing_) {
    if (to.channel.isOpen()) {
      to.channel.addInterest(interests);
    } else {
      to.dialling.addInterest(interests);
      timeout = to.dialling.pauseWithin(timeout);
    }
  }
  return timeout;
}

const Channel* Sends::channelTo(int peer) const {
  const auto to = outgoing_.find(peer);
  return to == outgoing_.end() ? nullptr : &to->second.channel;
}

std::string Sends::connectionProblem(int peer) const {
  const auto to = outgoing_.find(peer);
  return to == outgoing_.end() ? "" : to->second.dialling.lastProblem();
}

void Sends::fail(const Failure& failure) {
  std::map<std::uint64_t, Send> failed;
  failed.swap(sends_);
  for (const auto& [_, send] : failed) send.posted.fail(failure);
}

void Sends::close(const OperationFailure& failure) {
  forEach([&](const Posted& posted) { posted.message.done(failure, -1); });
  sends_.clear();
  outgoing_.clear();
}

}  // namespace ringrun
