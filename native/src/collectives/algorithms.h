#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/operation.h"

namespace ringrun {

// Algorithms of the collectives; docs/algorithms.md describes them and their costs. Each operation supports
// some of them.
enum class Algorithm : std::uint8_t {
  Flat,
  Direct,
  Ring,
  HalvingDoubling,
  RecursiveDoubling,
  BinomialTree,
  Chain,
  Dissemination,
  Bruck,
  Pairwise,
  Hierarchical,
};

// "halving-doubling": the name in RINGRUN_ALGORITHM.
const char* nameOf(Algorithm algorithm);
std::optional<Algorithm> algorithmNamed(const std::string& name);
std::vector<std::string> algorithmNames();

// The medium that connects the ranks. Loopback is TCP within one machine: latency is low, and the cost of a
// message is the time of the processors that the ranks share. Rules for Tcp apply to Loopback too.
enum class Medium : std::uint8_t { SharedMemory, Tcp, Loopback };

// The input for choosing an algorithm. Equal on all ranks, so the choice is equal too.
struct AlgorithmInput {
  Op op;
  Medium medium;
  DType dtype;
  // Size of each rank's array; if lengths differ, the largest size that any rank receives.
  std::uint64_t bytes;
  int ranks;
};

// True if the operation supports that algorithm over that medium.
bool hasAlgorithm(Op op, Medium medium, Algorithm algorithm);

// Returns `forced` if the operation supports it over this medium, else the algorithm of the first matching
// rule. Every operation that moves data or waits for all ranks has an algorithm.
Algorithm chooseAlgorithm(const AlgorithmInput& input, std::optional<Algorithm> forced);

}  // namespace ringrun
