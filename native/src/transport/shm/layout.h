#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/operation.h"

// The control memory that the ranks of one host share; docs/wire-format.md describes the same layout.
//
//   [ArenaHeader, one page] [RankArea of the host's first rank] [RankArea of its second] …
//
// A rank writes only its own area; all ranks write the counters in the header; all ranks read everything. A
// rank writes its post, payload and staging, then adds 1 to its step and stores it in the post of the current turn
// (release). A rank that has read that step (acquire) sees these writes. All ranks carry out the same steps in the same
// order, so "step ≥ mine" means that a peer has reached the same step. A peer in the next turn stores its steps there, but
// it has left the last step of this turn here, which is no earlier than any step that a rank still awaits.
//
// All data written between steps exists twice and alternates: a rank that writes turn t + 2 has seen all ranks
// arrive at a step of turn t + 1, so no rank reads turn t any more.

namespace ringrun {

constexpr std::uint32_t kArenaMagic = 0x32415252;  // "RRA2"
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kPageBytes = 4096;

// Arrays up to this size are copied into the area itself: one step, and every rank reduces them itself.
constexpr std::size_t kEagerBytes = 8192;

// Larger arrays outside of registered memory go through staging in pieces of this size, which fit into the L2
// cache.
constexpr std::size_t kPieceBytes = 512 * 1024;

struct ArenaHeader {
  std::uint32_t magic;
  std::uint32_t size;  // ranks of the host
  std::uint64_t bytes;
  // A waiting rank increments `sleepers` and sleeps until `wakeups`, a futex word, changes. The last rank to
  // publish a step, if any rank sleeps, increments `wakeups` and wakes them: once for each step, not once
  // for each rank.
  alignas(kLineBytes) std::atomic<std::uint32_t> sleepers;  // offset 64
  std::atomic<std::uint32_t> wakeups;                       // offset 68
  std::uint8_t unused[kPageBytes - 72];
};
static_assert(sizeof(ArenaHeader) == kPageBytes, "shared layout");

// Location of an array. In a shared allocation, all ranks can read and write it in place.
struct Placement {
  bool isRegistered() const { return allocation != 0; }

  std::uint64_t offset = 0;   // bytes from the start of the rank's slice
  std::uint32_t allocation = 0;  // number of the shared allocation, from 1; 0: private memory
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Placement) == 16, "shared layout");

// Arrays up to this size are copied into the post.
constexpr std::size_t kPostedBytes = 16;

// The step of a rank, its operation, the location of its array, and the array itself if it is that short: all in one cache
// line, because every line that a peer reads costs about 100 ns after the one with the step.
struct alignas(kLineBytes) Post {
  std::atomic<std::uint32_t> step;       // offset 0; wraps around
  std::atomic<std::uint32_t> processor;  // offset 4; on which the rank published its step
  Fingerprint fingerprint;
  Placement placement;
  std::uint8_t payload[kPostedBytes];    // offset 48
};
static_assert(sizeof(Post) == kLineBytes, "shared layout");
static_assert(offsetof(Post, payload) == 48, "shared layout");

struct Turn {
  Post post;
  alignas(kLineBytes) std::uint8_t payload[kEagerBytes];
};
static_assert(sizeof(Turn) == kLineBytes + kEagerBytes, "shared layout");

struct alignas(kPageBytes) RankArea {
  Turn turns[2];
  alignas(kPageBytes) std::uint8_t staging[2][kPieceBytes];
};
static_assert(offsetof(RankArea, staging) == 5 * kPageBytes, "shared layout");
static_assert(sizeof(RankArea) == 5 * kPageBytes + 2 * kPieceBytes, "shared layout");

}  // namespace ringrun
