#include "collectives/links/measure_links.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "collectives/links/probe.h"
#include "collectives/links/rounds.h"

namespace ringrun {
namespace {

// More rounds would each be too short for a slow link.
constexpr int kMaxRounds = 12;

// A busy processor makes a rate smaller, so the larger of two counts.
constexpr int kSweeps = 2;

// Of all rounds of a sweep together; and of one, in which a link of 10 Mbit/s transfers 120 KB.
constexpr double kSecondsOfSweep = 0.3;
constexpr double kMaxSecondsOfRound = 0.1;

// In which hosts exchange data with several others.
constexpr double kSecondsOfSharing = 0.1;

// Measures the links of one host.
class Measurement {
 public:
  Measurement(Messenger& messenger, const Call& call, const Team& leaders, double* table)
      : hosts_(static_cast<int>(leaders.size())),
        own_(placeIn(leaders, messenger.rank())),
        rounds_(std::min(roundsOf(hosts_), kMaxRounds)),
        probe_(messenger, call, leaders),
        table_(table) {}

  void run() {
    const std::vector<int> partners = partnersInAllRounds();
    probe_.open(partners);
    for (const auto& [host, seconds] : probe_.roundTrips(partners)) {
      if (host < own_) continue;  // measured by that host too
      at(0, own_, host) = seconds / 2;
      at(0, host, own_) = seconds / 2;
    }
    const double seconds = std::min(kSecondsOfSweep / rounds_, kMaxSecondsOfRound);
    for (int round = 0; round < kSweeps * rounds_; ++round) {
      const int partner = partnerIn(round % rounds_, own_, hosts_);
      if (partner >= 0) record(1, probe_.rates({partner}, seconds));
    }
    if (hosts_ > 2) record(2, probe_.rates(partners, kSecondsOfSharing));
  }

 private:
  std::vector<int> partnersInAllRounds() const {
    std::vector<int> partners;
    for (int round = 0; round < rounds_; ++round) {
      const int partner = partnerIn(round, own_, hosts_);
      if (partner >= 0) partners.push_back(partner);
    }
    return partners;
  }

  void record(int matrix, const std::map<int, double>& arrived) {
    for (const auto& [host, rate] : arrived) {
      double& most = at(matrix, host, own_);
      most = std::max(most, rate);
    }
  }

  double& at(int matrix, int from, int to) {
    const auto hosts = static_cast<std::size_t>(hosts_);
    const auto row = static_cast<std::size_t>(matrix) * hosts + static_cast<std::size_t>(from);
    return table_[row * hosts + static_cast<std::size_t>(to)];
  }

  int hosts_;
  int own_;
  int rounds_;
  Probe probe_;
  double* table_;
};

}  // namespace

// Every number is measured by one host, so the sum over all ranks is the table.
void measureLinks(Connections& connections, Collectives& collectives, const Call& call, double* table) {
  const Topology& topology = connections.topology();
  const auto hosts = static_cast<std::size_t>(topology.hosts());
  std::fill_n(table, 3 * hosts * hosts, 0.0);
  Team leaders;
  for (int host = 0; host < topology.hosts(); ++host) leaders.push_back(topology.ranksOn(host).front());
  const bool isLeader = topology.localRank(connections.rank()) == 0;
  if (isLeader && topology.hosts() > 1) Measurement(connections.messenger(), call, leaders, table).run();
  if (topology.size() > 1) collectives.allReduce(call, table);
}

}  // namespace ringrun
