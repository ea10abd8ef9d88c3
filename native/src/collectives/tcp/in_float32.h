#pragma once

#include <cstddef>

#include "collectives/tcp/combination.h"
#include "collectives/tcp/team_operation.h"
#include "reduce/widen.h"

namespace ringrun {

// 16-bit floating-point numbers as float32, for algorithms that send partial results. The rank with the
// complete result rounds once, at the end.
class InFloat32 {
 public:
  InFloat32(TeamOperation& team, const Combination& combination, const void* data, std::size_t count)
      : narrow_(combination), data_(team.widened(count)), count_(count) {
    widen(narrow_.dtype, data, data_, count_);
  }

  Combination combination() const { return {DType::Float32, narrow_.op, narrow_.divisor}; }
  float* data() const { return data_; }
  void narrowInto(void* data) const { narrow(narrow_.dtype, data_, data, count_); }

 private:
  Combination narrow_;
  float* data_;
  std::size_t count_;
};

}  // namespace ringrun
