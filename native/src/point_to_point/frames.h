#pragma once

#include <cstdint>

#include "point_to_point/channel.h"
#include "point_to_point/message.h"
#include "transport/wire.h"

namespace ringrun {

// A frame about a message, without elements. `id`: the number that the sender gave to the message.
inline Channel::Frame frameOf(PointToPointType type, std::uint64_t id, const Message& message) {
  Channel::Frame frame;
  frame.header.type = type;
  frame.header.fingerprint = message.fingerprint;
  frame.header.id = id;
  return frame;
}

// True if the message may be sent without a request. Compares counts, because the product of count and element size may
// overflow.
inline bool isShort(const Fingerprint& message) {
  const std::size_t bytes = bytesPerElement(message.dtype);
  return bytes > 0 && message.count <= kEagerMessageBytes / bytes;
}

}  // namespace ringrun
