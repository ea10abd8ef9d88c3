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

struct Rule {
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

// The first matching rule of an operation applies. Algorithms trade steps for bytes: few steps are faster
// for small arrays, few bytes for large ones.
constexpr Rule kRules[] = {
    // In shared memory all ranks read all data directly, so no algorithm saves steps.
    {Op::AllReduce, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
    {Op::AllReduceQuantized, Medium::SharedMemory, Elements::Any, kAnySize, kAnyRanks, Algorithm::Flat},
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

    // 16-bit numbers lose most precision if partial results are passed on. Reduced at once, they are also sent
    // in 16 bits.
    {Op::AllReduce, Medium::Tcp, Elements::SixteenBitFloats, kAnySize, kAnyRanks, Algorithm::Direct},
    // Two ranks send as many bytes in one step as a ring does in two. Beyond this size the ring's chunks stay
    // in the cache.
    {Op::AllReduce, Medium::Tcp, Elements::Any, 512 * kKiB, 2, Algorithm::Direct},
    {Op::AllReduce, Medium::Tcp, Elements::Any, 16 * kKiB, 3, Algorithm::Direct},
    // Within a machine, few messages are faster than few steps: 45 µs against 64 µs on 4 ranks that share two
    // processors, 127 against 318 on 8.
    {Op::AllReduce, Medium::Loopback, Elements::Any, 64 * kKiB, kAnyRanks, Algorithm::RecursiveDoubling},
    {Op::AllReduce, Medium::Tcp, Elements::Any, 16 * kKiB, 4, Algorithm::Direct},
    {Op::AllReduce, Medium::Tcp, Elements::Any, 8 * kKiB, 8, Algorithm::Direct},
    {Op::AllReduce, Medium::Tcp, Elements::Any, 1 * kKiB, 64, Algorithm::Direct},
    // Up to 3 ranks, no algorithm has fewer steps than the ring.
    {Op::AllReduce, Medium::Tcp, Elements::Any, kAnySize, 3, Algorithm::Ring},
    {Op::AllReduce, Medium::Tcp, Elements::Any, 256 * kKiB, kAnyRanks, Algorithm::HalvingDoubling},
    {Op::AllReduce, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Ring},

    // Two roundings, whatever the number of ranks: an algorithm that passes partial results on would round each of them.
    {Op::AllReduceQuantized, Medium::Tcp, Elements::Any, kAnySize, kAnyRanks, Algorithm::Direct},

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

bool isFor(const Rule& rule, Op op, Medium medium) {
  const bool serves = rule.medium == medium || (rule.medium == Medium::Tcp && medium == Medium::Loopback);
  return rule.op == op && serves;
}

// An algorithm with a rule for one kind of TCP also runs over the other.
bool canRunOver(const Rule& rule, Medium medium) {
  return (rule.medium == Medium::SharedMemory) == (medium == Medium::SharedMemory);
}

bool fits(const Rule& rule, const AlgorithmInput& input) {
  const bool isSixteenBits = input.dtype == DType::Float16 || input.dtype == DType::BFloat16;
  return isFor(rule, input.op, input.medium) && (rule.elements == Elements::Any || isSixteenBits) &&
         input.bytes <= rule.upToBytes && input.ranks <= rule.upToRanks;
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
  return std::any_of(std::begin(kRules), std::end(kRules),
                     [&](const Rule& rule) { return rule.op == op && canRunOver(rule, medium) && rule.algorithm == algorithm; });
}

Algorithm chooseAlgorithm(const AlgorithmInput& input, std::optional<Algorithm> forced) {
  if (forced && hasAlgorithm(input.op, input.medium, *forced)) return *forced;
  for (const Rule& rule : kRules) {
    if (fits(rule, input)) return rule.algorithm;
  }
  throw std::logic_error("operation " + std::to_string(static_cast<int>(input.op)) + " has no algorithm");
}

}  // namespace ringrun
