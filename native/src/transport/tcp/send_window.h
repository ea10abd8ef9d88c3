#pragma once

#include <cstddef>

namespace ringrun {

// Bytes that the kernel would send at once on this TCP connection: 0 while others wait in it, otherwise at least a segment.
// `most` if the system does not tell.
std::size_t sendableBytes(int fd, std::size_t most) noexcept;

}  // namespace ringrun
