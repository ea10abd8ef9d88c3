#pragma once

#include "base/operation.h"
#include "collectives/collectives.h"
#include "transport/connections.h"

namespace ringrun {

// Measures the links between the hosts of a group, in about a second for any number of hosts: beyond some hosts, only those
// to some others. A collective. `table` receives three matrices of hosts × hosts numbers, row by row, equal on all ranks; 0
// where nothing was measured:
//
//   [a][b]: seconds from host a to host b, half of a round trip
//   [a][b]: bytes per second from a to b while a and b exchange data with no other host
//   [a][b]: bytes per second from a to b while every host exchanges data with several others
//
// `call` has the fingerprint of a sum of the table.
void measureLinks(Connections& connections, Collectives& collectives, const Call& call, double* table);

}  // namespace ringrun
