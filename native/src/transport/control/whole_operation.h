#pragma once

#include "base/operation.h"

namespace ringrun {

// An allReduceCoalesced consists of several all-reduces of different lengths, and destroy of several steps. Ranks may
// be in different ones: STATUS messages describe the whole operation.
inline Fingerprint wholeOf(Fingerprint part) {
  if (part.op == Op::AllReduceCoalesced || part.op == Op::Destroy) part.count = 0;
  if (part.op == Op::Destroy) {
    part.reduceOp = ReduceOp::None;
    part.dtype = DType::None;
  }
  return part;
}

}  // namespace ringrun
