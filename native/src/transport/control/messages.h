#pragma once

#include <cstdint>
#include <vector>

#include "base/failure.h"
#include "transport/wire.h"

namespace ringrun {

// A header and its body in one buffer.
std::vector<std::uint8_t> encodeMessage(ControlType type, const std::vector<std::uint8_t>& body);

// The bytes of a structure in transport/wire.h.
template <typename Structure>
std::vector<std::uint8_t> bytesOf(const Structure& structure) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(&structure);
  return {first, first + sizeof structure};
}

struct DecodedAbort {
  Failure failure;
  std::uint64_t sequence;
};

std::vector<std::uint8_t> encodeAbort(const Failure& failure, std::uint64_t sequence);

// The failure that `reporter` sent, from the perspective of this rank: a death, a missing rank or a mismatch
// is kept; an internal error of the reporter becomes a PeerDied of the reporter. Malformed bytes become a PeerDied
// of `reporter` too.
DecodedAbort decodeAbort(const std::uint8_t* body, std::size_t bytes, int reporter, int size);

}  // namespace ringrun
