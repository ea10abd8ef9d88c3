#include "collectives/create.h"

#include "collectives/hierarchical/hierarchical_collectives.h"
#include "collectives/shm/shm_collectives.h"
#include "collectives/tcp/tcp_collectives.h"

namespace ringrun {

std::unique_ptr<Collectives> createCollectives(Connections& connections, std::optional<Algorithm> forced, const Call& call) {
  if (connections.topology().isOneHost()) return std::make_unique<ShmCollectives>(connections, call);
  if (connections.topology().isOneRankPerHost()) return std::make_unique<TcpCollectives>(connections, forced);
  return std::make_unique<HierarchicalCollectives>(connections, forced, call);
}

}  // namespace ringrun
