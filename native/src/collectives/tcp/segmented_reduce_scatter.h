#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/blocks.h"
#include "collectives/split.h"
#include "collectives/tcp/combination.h"
#include "collectives/tcp/communicator.h"

namespace ringrun {

// A direct reduce-scatter, a segment at a time: each rank sends every other its terms of what that one reduces, and
// reduces what it has allRanks's terms of, in the order of the team and at once, so that nothing is rounded twice.
class Terms {
 public:
  // `parts[place]`: this rank's terms of what that place reduces; all ranks know all their lengths.
  Terms(Communicator& team, const Combination& combination, Blocks parts);

  // Of the longest part; others have fewer, and the rest of theirs is empty.
  std::size_t segments() const;
  Range segment(int place, std::size_t s) const;

  // Segment s of every part goes to who reduces it. Parts of no elements are not sent: without those, who returns from
  // the first segment has heard from allRanks.
  void exchange(std::size_t s);

  // The own segment s, completed; or in scratch memory, until the next exchange.
  void reduceInto(void* result, std::size_t s) const;
  const void* reduced(std::size_t s) const;

 private:
  const Block& part(int place) const { return parts_[static_cast<std::size_t>(place)]; }
  const std::uint8_t* ownTermsAt(int place, std::size_t element) const;
  std::uint8_t* landing(int place) const;

  Communicator& team_;
  Combination combination_;
  Blocks parts_;
  std::size_t perSegment_;
  std::uint8_t* landings_;
};

// The parts of an array of which each place reduces a nearly equal one.
Blocks evenParts(const Communicator& team, const Combination& combination, void* data, std::size_t count);

}  // namespace ringrun
