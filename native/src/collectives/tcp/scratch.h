#pragma once

#include "collectives/buffer.h"

namespace ringrun {

// Scratch memory of one rank. Two buffers, because an algorithm may run on widened numbers.
struct Scratch {
  Buffer receiveBuffer;  // received terms and their reduction
  Buffer widened;        // 16-bit floating-point numbers as float32
};

}  // namespace ringrun
