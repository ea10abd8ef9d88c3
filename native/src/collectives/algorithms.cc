#include "collectives/algorithms.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace ringrun {
namespace {

struct Name {
  Algorithm algorithm;
  const char* name;
};

constexpr Name kNames[] = {
    {Algorithm::Flat, "flat"},
    {Algorithm::Direct, "direct"},
    {Algorithm::Ring, "ring"},
    {Algorithm::HalvingDoubling, "halving-doubling"},
    {Algorithm::RecursiveDoubling, "recursive-doubling"},
    {Algorithm::BinomialTree, "binomial-tree"},
    {Algorithm::Chain, "chain"},
    {Algorithm::Dissemination, "dissemination"},
    {Algorithm::Bruck, "bruck"},
    {Algorithm::Pairwise, "pairwise"},
    {Algorithm::Hierarchical, "hierarchical"},
};

enum class Elements { Any, SixteenBitFloats };

struct Row {
  Op op;
  Medium medium;
  Elements elements;
  std::uint64_t upToBytes;
  int upToRanks;
  Algorithm algorithm;
};

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kAnySize = std::numeric_limits<std::uint64_t>::max();
constexpr int kAnyRanks = std::numeric_limits<int>::max();

// Of an operation's rows the first that fits is taken. Where algorithms differ in steps and in bytes, few steps win
// while an array is small, few bytes when it is large.
constexpr Row kTable[] = {
    // In shared memory all ranks read all data directly; there are no steps to save.
    {Op::AllReduce, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::Reduce, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::ReduceScatter, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::Broadcast, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::AllGather, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::Gather, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::Scatter, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::AllToAll, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::Barrier, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::MonitoredBarrier, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::Allocate, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::Destroy, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},

    // Numbers of 16 bits lose most where partial results are passed on; reduced at once, they travel in 16 bits too.
    {Op::AllReduce, Medium::Tcp, Elements::SixteenBitFloats, kAnySize, kAnyRanks, Algorithm::Direct},
    // Two ranks send as much in one step as a ring does in two; beyond this the ring's chunks stay in the cache.
    {Op::AllReduce, Medium::Tcp, Elements::Any, 512 * kKiB, 2, Algorithm::Direct},
    {Op::AllReduce, Medium::Tcp, Elements::Any, 16 * kKiB, 3, Algorithm::Direct},
    // Within a machine few messages are better than few steps: 45 µs against 64 on 4 ranks that share two processors, 127
    // against 318 on 8.
    {Op::AllReduce, Medium::Loopback, Elements::Any, 64 * kKiB, kAnyRanks, Algorithm::RecursiveDoubling},
    {Op::AllReduce, Medium::Tcp, Elements::Any, 16 * kKiB, 4, Algorithm::Direct},
    {Op::AllReduce, Medium::Tcp, Elements::Any, 8 * kKiB, 8, Algorithm::Direct},
    {Op::AllReduce, Medium::Tcp, Elements::Any, 1 * kKiB, 64, Algorithm::Direct},
    // Up to 3 ranks the ring has no more steps than anything else.
    {Op::AllReduce, Medium::Tcp, Elements::Any, kAnySize, 3, Algorithm::Ring},
    {Op::AllReduce, Medium::Tcp, Elements::Any, 256 * kKiB, kAnyRanks, Algorithm::HalvingDoubling},
    {Op::AllReduce, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Ring},

    {Op::Reduce, Medium::Tcp, Elements::SixteenBitFloats, kAnySize, kAnyRanks, Algorithm::Direct},
    {Op::Reduce, Medium::Tcp, Elements::Any, 64 * kKiB, kAnyRanks, Algorithm::BinomialTree},
    {Op::Reduce, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Direct},

    {Op::ReduceScatter, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Direct},

    {Op::Broadcast, Medium::Tcp, Elements::Any, 64 * kKiB, kAnyRanks, Algorithm::BinomialTree},
    {Op::Broadcast, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Chain},

    {Op::AllGather, Medium::Tcp, Elements::Any, 64 * kKiB, 8, Algorithm::Direct},
    {Op::AllGather, Medium::Tcp, Elements::Any, 64 * kKiB, kAnyRanks, Algorithm::Bruck},
    {Op::AllGather, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Ring},

    {Op::Gather, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Direct},
    {Op::Scatter, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Direct},

    {Op::AllToAll, Medium::Tcp, Elements::Any, 64 * kKiB, kAnyRanks, Algorithm::Direct},
    {Op::AllToAll, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Pairwise},

    {Op::Barrier, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Dissemination},
    {Op::MonitoredBarrier, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Dissemination},
    {Op::Allocate, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Dissemination},
    {Op::Destroy, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Dissemination},
};

bool isFor(const Row& row, Op op, Medium medium) {
  const bool serves = row.medium == medium || (row.medium == Medium::Tcp && medium == Medium::Loopback);
  return row.op == op && serves;
}

// What suits one kind of TCP better than the other can be carried out over both.
bool canRunOver(const Row& row, Medium medium) {
  return (row.medium == Medium::SharedMemory) == (medium == Medium::SharedMemory);
}

bool fits(const Row& row, const Situation& situation) {
  const bool isSixteenBits = situation.dtype == DType::Float16 || situation.dtype == DType::BFloat16;
  return isFor(row, situation.op, situation.medium) && (row.elements == Elements::Any || isSixteenBits) &&
         situation.bytes <= row.upToBytes && situation.ranks <= row.upToRanks;
}

}  // namespace

const char* nameOf(Algorithm algorithm) {
  const auto isIt = [&](const Name& one) { return one.algorithm == algorithm; };
  return std::find_if(std::begin(kNames), std::end(kNames), isIt)->name;
}

std::optional<Algorithm> algorithmNamed(const std::string& name) {
  for (const auto& one : kNames) {
    if (name == one.name) return one.algorithm;
  }
  return std::nullopt;
}

std::vector<std::string> algorithmNames() {
  std::vector<std::string> names;
  for (const auto& one : kNames) names.emplace_back(one.name);
  return names;
}

bool hasAlgorithm(Op op, Medium medium, Algorithm algorithm) {
  return std::any_of(std::begin(kTable), std::end(kTable),
                     [&](const Row& row) { return row.op == op && canRunOver(row, medium) && row.algorithm == algorithm; });
}

Algorithm chooseAlgorithm(const Situation& situation, std::optional<Algorithm> forced) {
  if (forced && hasAlgorithm(situation.op, situation.medium, *forced)) return *forced;
  for (const Row& row : kTable) {
    if (fits(row, situation)) return row.algorithm;
  }
  throw std::logic_error("operation " + std::to_string(static_cast<int>(situation.op)) + " has no algorithm");
}

}  // namespace ringrun
