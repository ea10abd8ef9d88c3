#include "collectives/tcp/tcp_collectives.h"

namespace ringrun {

// Dissemination: in round k every rank tells the one 2^k above it, and hears from the one 2^k below. After ⌈log₂
// size⌉ rounds what each rank has heard of, directly or not, is everybody.
void TcpCollectives::barrier(const Call& call) {
  std::uint32_t round = 0;
  for (int distance = 1; distance < size_; distance *= 2, ++round) {
    const int above = (rank_ + distance) % size_;
    const int below = (rank_ - distance + size_) % size_;
    messenger_.transfer(call, {{above, round, nullptr, 0}}, {{below, round, nullptr, 0}});
  }
}

}  // namespace ringrun
