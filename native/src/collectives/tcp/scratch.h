#pragma once

#include "collectives/buffer.h"

namespace ringrun {

// Of one rank. Two buffers, because an algorithm may run on numbers that had to be widened first.
struct Scratch {
  Buffer landings;  // what arrives, and what it is reduced to
  Buffer widened;   // 16-bit floating-point numbers as float32
};

}  // namespace ringrun
