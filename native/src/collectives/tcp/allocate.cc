#include <algorithm>

#include "collectives/tcp/tcp_collectives.h"

namespace ringrun {

// TCP has no memory that is better than other; the ranks still agree that they are all at this place.
Allocation TcpCollectives::allocate(const Call& call) {
  barrier(call);
  auto memory = std::make_shared<const Mapping>(Mapping::anonymous(std::max<std::size_t>(call.fingerprint.bytes(), 1)));
  return {memory->data(), memory};
}

}  // namespace ringrun
