#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/blocks.h"
#include "collectives/split.h"
#include "collectives/tcp/combination.h"
#include "collectives/tcp/team_operation.h"

namespace ringrun {

// A direct reduce-scatter, segment by segment: each rank sends to every other its terms of the part that the
// other reduces, and reduces all terms of its own part at once, in the order of the team, so that nothing is
// rounded twice.
class SegmentedReduceScatter {
 public:
  // `parts[place]`: this rank's terms of the part that the rank at that place reduces. All ranks know all
  // lengths. Order::AheadOnLongLinks: the caller exchanges all segments without other messages in between, and until the
  // operation ends, only messages that are received change other ranks' parts.
  enum class Order { InTurn, AheadOnLongLinks };
  SegmentedReduceScatter(TeamOperation& team, const Combination& combination, Blocks parts, Order order = Order::InTurn);

  // Number of segments of the longest part. Segments beyond the end of shorter parts are empty.
  std::size_t segments() const;
  Range segment(int place, std::size_t s) const;

  // Sends segment s of every part to its reducer. Empty segments are not sent; if no segment is empty, a rank that
  // returns from the first segment has heard from all others.
  void exchange(std::size_t s);

  // Reduces segment s of this rank's part into `result`, or into scratch memory that is valid until the next
  // exchange.
  void reduceInto(void* result, std::size_t s) const;
  const void* reduced(std::size_t s) const;

 private:
  const Block& part(int place) const { return parts_[static_cast<std::size_t>(place)]; }
  const std::uint8_t* ownTermsAt(int place, std::size_t element) const;
  std::uint8_t* receiveBufferOf(int place) const;

  TeamOperation& team_;
  Combination combination_;
  Blocks parts_;
  std::size_t perSegment_;
  std::uint8_t* receiveBuffer_;
  bool isLent_;
  std::size_t ahead_;      // segments that are sent before as many others have arrived
  std::size_t begun_ = 0;  // segments that are being sent
};

// Divides an array into nearly equal parts, one for each place.
Blocks evenParts(const TeamOperation& team, const Combination& combination, void* data, std::size_t count);

}  // namespace ringrun
