#pragma once

#include <cstdint>

namespace ringrun {

constexpr std::uint32_t kUnknownProcessor = ~std::uint32_t{0};

// The processor that the calling thread runs on now; costs some nanoseconds. kUnknownProcessor where the system does
// not say.
std::uint32_t currentProcessor();

// Moves the calling thread to another of its processors, if it has one; where it may run stays as it was. Some
// microseconds.
void moveToAnotherProcessor();

}  // namespace ringrun
