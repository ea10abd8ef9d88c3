#include "collectives/tcp/tcp_collectives.h"

namespace ringrun {

TcpCollectives::TcpCollectives(Connections& connections)
    : rank_(connections.rank()), size_(connections.size()), messenger_(connections.messenger()) {}

std::uint8_t* TcpCollectives::scratch(std::size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return scratch_.data();
}

void TcpCollectives::reduce(const Call&, void*) { throw Failure(FailureCode::System, {}, "to be written"); }
void TcpCollectives::reduceScatter(const Call&, const Blocks&, const Block&) { throw Failure(FailureCode::System, {}, "to be written"); }
void TcpCollectives::exchange(const Call&, const Exchange&) { throw Failure(FailureCode::System, {}, "to be written"); }

}  // namespace ringrun
