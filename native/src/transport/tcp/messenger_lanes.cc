// The part of Messenger that sends long messages over the lanes of long links, and decides which messages those are.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/failure.h"
#include "transport/tcp/messenger.h"

namespace ringrun {
namespace {

// Over a link with a longer round trip, later messages are sent before earlier ones of other ranks have arrived. On a
// shorter one that would only fill buffers.
constexpr std::chrono::milliseconds kFarRoundTrip{1};

// Messages to one rank that lanes send at the same time.
constexpr std::size_t kMostStriped = 16;

// Added to the round trips in which the first lane of a link is opened.
constexpr Milliseconds kLaneGrace{100};

}  // namespace

std::chrono::microseconds Messenger::roundTripTo(int peer) {
  auto& roundTrip = channelTo(peer).roundTrip;
  if (!roundTrip) {
    const auto measured = directory_.isOnThisMachine(peer) ? std::nullopt : mesh_.roundTripTo(peer);
    roundTrip = measured.value_or(std::chrono::microseconds{0});
  }
  return *roundTrip;
}

bool Messenger::isFar(int peer) { return roundTripTo(peer) >= kFarRoundTrip; }

void Messenger::beginLanes(int peer) {
  Channel& channel = channelTo(peer);
  if (!channel.lanes) {
    channel.lanes = lanesFor(roundTripTo(peer), size_ - 1);
    channel.stripes.expect(*channel.lanes);
    channel.lanesAwaitedUntil = Clock::now() + 4 * roundTripTo(peer) + kLaneGrace;
  }
  usesLanes_ |= *channel.lanes > 0;
}

// A rank that connects decides how many lanes there may be, and opens those that messages of either side will use next.
std::uint32_t Messenger::lanesToOpen(int peer) const {
  const Channel& channel = channelTo(peer);
  if (peer > rank_) return kMostStripeLanes;
  return std::min(channel.lanes.value_or(0), channel.stripes.wanted());
}

void Messenger::advanceLanes(int peer, const Call& call) {
  Channel& channel = channelTo(peer);
  const std::uint32_t most = lanesToOpen(peer);
  // A lane that is no longer wanted would wait for its handshake, and be refused for that.
  dialled_.erase(dialled_.upper_bound({peer, most}), dialled_.lower_bound({peer + 1, 0}));
  if (channel.stripes.size() >= most) return;
  if (peer > rank_) acceptor_.advance();
  for (std::uint32_t lane = 1; lane <= most; ++lane) {
    if (channel.stripes.has(lane)) continue;
    if (Link link = advanceConnecting({peer, lane}, call)) channel.stripes.add(lane, std::move(link));
  }
}

// Sends messages in their order, and decides for each whether it is striped. The connection for messages continues with the
// next one while lanes send a striped one.
bool Messenger::advanceSends(int peer, const Call& call) {
  Channel& channel = channelTo(peer);
  if (channel.lanes.value_or(0) > 0) advanceLanes(peer, call);
  bool advanced = false;
  stripedSends_.clear();
  for (auto& sending : channel.sending) {
    if (!sending.isBegun) {
      const bool isLong = mayBeStriped(channel, sending);
      if (isLong && awaitsLane(channel)) break;
      sending.isBegun = true;
      if (isLong) sending.begunAt = Clock::now();
      sending.header.isStriped = isLong && channel.stripes.helps() ? 1 : 0;
      if (sending.header.isStriped != 0) {
        const auto* const data = static_cast<const std::uint8_t*>(sending.message.data);
        sending.striped = {data, sending.message.bytes, channel.stripedSends++};
      }
    }
    if (!sending.isOnItsWay()) {
      advanced |= advance(sending);
      if (!sending.isOnItsWay()) break;
      onSentWithoutLanes(channel, sending);
    }
    if (sending.header.isStriped != 0) stripedSends_.push_back(&sending.striped);
    if (stripedSends_.size() == kMostStriped) break;
  }
  if (!stripedSends_.empty()) {
    advanced |= channel.stripes.send(stripedSends_);
    throwIfLaneEnded(peer);
  }
  for (; !channel.sending.empty() && channel.sending.front().complete(); channel.sending.pop_front()) {
    sent_.push_back(channel.sending.front().message);
  }
  return advanced;
}

bool Messenger::mayBeStriped(const Channel& channel, const Sending& sending) {
  return sending.message.bytes >= kStripedBytes && channel.lanes.value_or(0) > 0;
}

// A message that could have been striped shows whether lanes would have helped.
void Messenger::onSentWithoutLanes(Channel& channel, const Sending& sending) {
  if (!mayBeStriped(channel, sending) || sending.header.isStriped != 0) return;
  channel.stripes.onSentWithout(channel.connection, sending.begunAt);
}

bool Messenger::awaitsLane(const Channel& channel) {
  return channel.stripes.isEmpty() && Clock::now() < channel.lanesAwaitedUntil;
}

// True if the next message can be sent when the connection for messages accepts bytes.
bool Messenger::waitsForConnection(const Channel& channel) {
  std::size_t striped = 0;
  for (const auto& sending : channel.sending) {
    if (!sending.isOnItsWay()) return sending.isBegun || !awaitsLane(channel);
    striped += sending.header.isStriped;
    if (striped == kMostStriped) return false;
  }
  return false;
}

bool Messenger::waitsForLanes(const Channel& channel) {
  return std::any_of(channel.sending.begin(), channel.sending.end(), [](const Sending& one) {
    return one.isOnItsWay() && one.striped.taken < one.striped.bytes;
  });
}

bool Messenger::advanceStriped(Receiving& receiving, const Call& call) {
  const int peer = receiving.message.from;
  advanceLanes(peer, call);
  const bool advanced = channelTo(peer).stripes.receive(receiving.striped);
  throwIfLaneEnded(peer);
  return advanced;
}

void Messenger::throwIfLaneEnded(int peer) {
  const int error = channelTo(peer).stripes.error();
  if (error == 0) return;
  if (error == EBADMSG) throwAltered(peer);
  throwEndFailureOf(peer, describeEnd("a connection for stripes", error, "", directory_, peer));
}

}  // namespace ringrun
