#include "transport/tcp/stripes.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/descriptors.h"
#include "transport/connect/tcp_state.h"
#include "transport/tcp/remaining_parts.h"
#include "transport/tcp/send_window.h"

namespace ringrun {
namespace {

// Longest part, so that lanes with open windows end together.
constexpr std::size_t kMaxPartBytes = 256 * 1024;

// Links with a shorter round trip have no lanes: a connection opens its window within a few of them.
constexpr std::chrono::milliseconds kLongRoundTrip{5};

// Connections that all lanes of a rank may take.
constexpr std::uint32_t kMostConnections = 512;

// About so many messages show what fills the link.
constexpr std::size_t kMessagesRemembered = 16;

// More than any link needs.
constexpr std::size_t kMostFilling = std::size_t{1} << 30;

std::size_t bytesPerRoundTrip(const TcpPath& path) {
  const std::chrono::duration<double> roundTrip = path.shortestRoundTrip;
  return static_cast<std::size_t>(static_cast<double>(path.bytesPerSecond) * roundTrip.count());
}

}  // namespace

void Stripes::add(std::uint32_t lane, Link link) {
  // A lane takes another part only when the kernel has sent the previous one. Without the option it takes parts earlier.
  link.limitUnsent(1);
  lanes_[lane].link = std::move(link);
}

bool Stripes::send(const std::vector<StripedSend*>& messages) {
  bool advanced = false;
  for (auto& [number, lane] : lanes_) {
    while (lane.sending != nullptr || (takesParts(number) && take(lane, messages))) {
      if (!advance(lane)) break;
      advanced = true;
    }
  }
  return advanced;
}

bool Stripes::take(Lane& lane, const std::vector<StripedSend*>& messages) {
  const auto isLeft = [](const StripedSend* one) { return one->taken < one->bytes; };
  const auto first = std::find_if(messages.begin(), messages.end(), isLeft);
  if (first == messages.end()) return false;
  StripedSend& message = **first;
  const std::size_t room = sendableBytes(lane.link.fd(), kMaxPartBytes);
  if (room <= sizeof lane.outHeader) return false;
  const std::size_t bytes = std::min(room - sizeof lane.outHeader, message.bytes - message.taken);
  lane.outHeader.bytes = static_cast<std::uint32_t>(bytes);
  lane.outHeader.message = message.message;
  lane.outHeader.offset = message.taken;
  lane.outHeader.lanes = 2 * count_.inUse();
  lane.sending = &message;
  lane.sent = 0;
  if (message.taken == 0) message.begunAt = Clock::now();
  message.taken += bytes;
  return true;
}

bool Stripes::advance(Lane& lane) {
  iovec parts[2];
  msghdr message{};
  message.msg_iov = parts;
  auto* const data = const_cast<std::uint8_t*>(lane.sending->data) + lane.outHeader.offset;
  message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(
      remainingParts(parts, &lane.outHeader, sizeof lane.outHeader, data, lane.outHeader.bytes, lane.sent));
  const ssize_t sent = lane.link.send(message);
  if (sent <= 0) {
    if (sent < 0 && !wouldBlock(errno)) error_ = errno;
    return false;
  }
  lane.sent += static_cast<std::size_t>(sent);
  if (lane.sent == sizeof lane.outHeader + lane.outHeader.bytes) {
    lane.sending->sent += lane.outHeader.bytes;
    if (lane.sending->complete()) onSent(*lane.sending);
    lane.sending = nullptr;
  }
  return true;
}

void Stripes::onSent(const StripedSend& message) {
  if (!count_.helps()) return;
  TcpPath all;
  std::uint32_t lanes = 0;
  for (const auto& [number, lane] : lanes_) {
    const auto path = takesParts(number) ? pathOfTcp(lane.link.fd()) : std::nullopt;
    if (!path) continue;
    ++lanes;
    all.roundTrip += path->roundTrip;
    all.sent += path->sent;
    all.resent += path->resent;
    if (lanes == 1 || path->shortestRoundTrip < all.shortestRoundTrip) all.shortestRoundTrip = path->shortestRoundTrip;
  }
  if (lanes == 0) return;
  all.roundTrip /= lanes;
  count_.onSent(message.begunAt, Clock::now(), all, static_cast<std::uint32_t>(lanes_.size()));
}

void Stripes::onSentWithout(const Link& link, Clock::time_point begunAt) {
  if (count_.helps()) return;
  const auto path = pathOfTcp(link.fd());
  if (!path) return;
  const bool full = count_.onSent(begunAt, Clock::now(), *path, static_cast<std::uint32_t>(lanes_.size()));
  const std::size_t part = filling_ / kMessagesRemembered;
  // A message that waited for others shows less than the link can carry, and a link with room carries more.
  filling_ = full ? std::max(bytesPerRoundTrip(*path), filling_ - part) : std::min(filling_ + part, kMostFilling);
}

std::optional<std::size_t> Stripes::bytesThatFill() const {
  return helps() || filling_ == 0 ? std::nullopt : std::optional(filling_);
}

bool Stripes::receive(StripedReceive& message) {
  bool advanced = false;
  for (auto& [_, lane] : lanes_) {
    while (message.received < message.bytes && advance(lane, message)) advanced = true;
  }
  return advanced;
}

// Parts of later messages wait in their lanes.
bool Stripes::advance(Lane& lane, StripedReceive& message) {
  const bool hasHeader = lane.received >= sizeof lane.inHeader;
  if (hasHeader && isWrong(lane.inHeader, message)) return false;
  if (hasHeader && lane.inHeader.message != message.message) return false;
  iovec parts[2];
  msghdr arriving{};
  arriving.msg_iov = parts;
  arriving.msg_iovlen = static_cast<decltype(arriving.msg_iovlen)>(
      remainingParts(parts, &lane.inHeader, sizeof lane.inHeader, hasHeader ? message.into + lane.inHeader.offset : nullptr,
                     hasHeader ? lane.inHeader.bytes : 0, lane.received));
  const ssize_t got = lane.link.receive(arriving);
  if (got <= 0) {
    if (got == 0 || !wouldBlock(errno)) error_ = got == 0 ? ECONNRESET : errno;
    return false;
  }
  lane.received += static_cast<std::size_t>(got);
  if (lane.received >= sizeof lane.inHeader) wantedByPeer_ = lane.inHeader.lanes;
  if (!hasHeader) return true;
  message.received += static_cast<std::size_t>(got);
  if (lane.received == sizeof lane.inHeader + lane.inHeader.bytes) lane.received = 0;
  return true;
}

bool Stripes::isWrong(const StripeHeader& header, const StripedReceive& message) {
  const bool fits = header.message > message.message ||
                    (header.message == message.message && header.offset <= message.bytes &&
                     header.bytes <= message.bytes - header.offset);
  if (header.magic != kStripeMagic || header.bytes == 0 || !fits) error_ = EPROTO;
  return error_ != 0;
}

void Stripes::addInterests(std::vector<pollfd>& interests, bool sends, const StripedReceive* receiving) const {
  for (const auto& [number, lane] : lanes_) {
    const bool waits = lane.received >= sizeof lane.inHeader && receiving != nullptr && lane.inHeader.message != receiving->message;
    const int events = ((sends && takesParts(number)) || lane.sending != nullptr ? POLLOUT : 0) | (receiving != nullptr && !waits ? POLLIN : 0);
    if (events != 0) interests.push_back({lane.link.fd(), static_cast<short>(events), 0});
  }
}

std::uint32_t lanesFor(std::chrono::microseconds roundTrip, int peers) {
  if (roundTrip < kLongRoundTrip) return 0;
  const std::uint32_t wanted = roundTrip < 4 * kLongRoundTrip ? 8 : kMostStripeLanes;
  const std::uint32_t most = kMostConnections / static_cast<std::uint32_t>(std::max(peers, 1));
  return most < 2 ? 0 : std::min(wanted, most);
}

}  // namespace ringrun
