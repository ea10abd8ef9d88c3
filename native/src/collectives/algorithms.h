#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/operation.h"

namespace ringrun {

// Ways to carry out a collective; docs/algorithms.md tells what each does and costs. Not every operation has each.
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

// "halving-doubling"; as RINGRUN_ALGORITHM takes it.
const char* nameOf(Algorithm algorithm);
std::optional<Algorithm> algorithmNamed(const std::string& name);
std::vector<std::string> algorithmNames();

// What the ranks have in common. Loopback is TCP within one machine: there is no distance between the ranks, and what a
// message costs is the time of the processors that they share. Whatever is for Tcp is for Loopback too.
enum class Medium : std::uint8_t { SharedMemory, Tcp, Loopback };

// What a choice depends on: all of it is equal on all ranks, and so is the choice.
struct Situation {
  Op op;
  Medium medium;
  DType dtype;
  // Of each rank's array; where lengths differ, the most that any rank takes.
  std::uint64_t bytes;
  int ranks;
};

// True if the operation supports that algorithm.
bool hasAlgorithm(Op op, Medium medium, Algorithm algorithm);

// `forced` where the operation has it over this medium, else what the table says. Every operation that moves data or
// waits for allRanks has an algorithm.
Algorithm chooseAlgorithm(const Situation& situation, std::optional<Algorithm> forced);

}  // namespace ringrun
