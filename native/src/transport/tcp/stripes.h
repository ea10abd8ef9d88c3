#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "transport/connect/link.h"
#include "transport/tcp/lane_count.h"
#include "transport/wire.h"

namespace ringrun {

// Shorter messages are not striped: one connection sends two thirds of them at once.
constexpr std::size_t kStripedBytes = 24 * 1024;

// The rest of a striped message that lanes have not taken.
struct StripedSend {
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t message = 0;  // its number
  std::size_t taken = 0;      // bytes that lanes have taken
  std::size_t sent = 0;       // bytes that the kernel has accepted
  Clock::time_point begunAt{};
  bool complete() const { return sent == bytes; }
};

// A striped message that this rank receives.
struct StripedReceive {
  std::uint8_t* into = nullptr;
  std::size_t bytes = 0;
  std::uint64_t message = 0;
  std::size_t received = 0;
};

// The *lanes* of a long link: TCP connections to one rank that share its long messages, in both directions. Each
// connection may send only a few segments per round trip after it was opened or idle, whatever the link can carry; many
// connections send that many times as much. A lane takes another part of a message whenever the kernel accepts more bytes,
// so a slow lane does not delay the others.
//
// The connection for messages carries the headers, and all short messages.
class Stripes {
 public:
  // Returns errno of a lane that broke, or 0.
  int error() const { return error_; }

  // Lanes 1 … `most` may be added.
  void expect(std::uint32_t most) { count_ = LaneCount(most); }
  void add(std::uint32_t lane, Link link);
  bool has(std::uint32_t lane) const { return lanes_.count(lane) != 0; }
  std::size_t size() const { return lanes_.size(); }
  bool isEmpty() const { return lanes_.empty(); }
  // The lanes that either side will use next.
  std::uint32_t wanted() const { return std::max(2 * count_.inUse(), wantedByPeer_); }
  bool helps() const { return !isEmpty() && count_.helps(); }
  // Bytes that fill the link for a round trip, as the last long messages of the connection for messages showed. No value if lanes
  // help, while the link has never been full, and if the system does not tell.
  std::optional<std::size_t> bytesThatFill() const;
  // The connection for messages, `link`, has accepted the last bytes of a long message that began at `begunAt`.
  void onSentWithout(const Link& link, Clock::time_point begunAt);

  // Sends parts of these messages, whose headers have been sent, the oldest first. They must stay where they are until they
  // are complete. Returns true if the kernel accepted any bytes.
  bool send(const std::vector<StripedSend*>& messages);

  // Receives parts of the message. Returns true if any bytes arrived.
  bool receive(StripedReceive& message);

  // Adds the lanes that may send a part if `sends`, and those that may receive a part of `receiving`, if any.
  void addInterests(std::vector<pollfd>& interests, bool sends, const StripedReceive* receiving) const;

 private:
  struct Lane {
    Link link;
    // The part that it sends.
    StripeHeader outHeader;
    StripedSend* sending = nullptr;
    std::size_t sent = 0;  // bytes of header and part
    // The part that it receives.
    StripeHeader inHeader;
    std::size_t received = 0;
  };

  bool isWrong(const StripeHeader& header, const StripedReceive& message);
  bool take(Lane& lane, const std::vector<StripedSend*>& messages);
  bool takesParts(std::uint32_t lane) const { return lane <= count_.inUse(); }
  void onSent(const StripedSend& message);
  bool advance(Lane& lane);
  bool advance(Lane& lane, StripedReceive& message);

  std::map<std::uint32_t, Lane> lanes_;
  LaneCount count_;
  std::size_t filling_ = 0;  // the most of the last messages
  std::uint32_t wantedByPeer_ = 0;
  int error_ = 0;
};

// The number of lanes for a link with this round trip; 0: the connection for messages suffices. `peers`: ranks that this rank
// may have such links to.
std::uint32_t lanesFor(std::chrono::microseconds roundTrip, int peers);

}  // namespace ringrun
