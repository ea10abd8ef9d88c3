#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/operation.h"

// The control memory that the ranks of one host share, byte by byte; docs/wire-format.md draws the same.
//
//   [ArenaHeader, one page] [RankArea of the host's first rank] [RankArea of its second] …
//
// Who may write: a rank writes its own area only; everybody the counters in the header. Everybody
// reads all. What orders it: a rank writes its posts, payload and staging, then adds 1 to `step` (release); whoever
// has seen that step (acquire) sees what was written before it. All ranks carry out the same steps in the same order,
// so "step ≥ mine" means that a peer has come as far as I have. Everything written between steps exists twice and is
// used in turns: a rank that writes turn t + 2 has seen everybody arrive at a step of turn t + 1, so nobody reads
// turn t any more.

namespace ringrun {

constexpr std::uint32_t kArenaMagic = 0x31415252;  // "RRA1"
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kPageBytes = 4096;

// Up to this many bytes travel in the area itself: one step, and every rank reduces them for itself.
constexpr std::size_t kEagerBytes = 8192;

// Larger arrays outside of registered memory travel through staging in pieces of this size, which stay in the L2
// cache.
constexpr std::size_t kPieceBytes = 512 * 1024;

struct ArenaHeader {
  std::uint32_t magic;
  std::uint32_t size;  // ranks of the host
  std::uint64_t bytes;
  // A rank that waits counts itself a sleeper, and sleeps until `wakeups` changes (a futex word). Whoever publishes the
  // step that the last one was missing, and finds sleepers, adds to it and wakes them: once for a step, not once for
  // each rank that comes to it.
  alignas(kLineBytes) std::atomic<std::uint32_t> sleepers;  // offset 64
  std::atomic<std::uint32_t> wakeups;                       // offset 68
  std::uint8_t unused[kPageBytes - 72];
};
static_assert(sizeof(ArenaHeader) == kPageBytes, "shared layout");

// Where an array lies. In a segment, everybody can read it, and write to it, where it is.
struct Placement {
  bool isRegistered() const { return segment != 0; }

  std::uint64_t offset = 0;   // bytes from the beginning of the rank's slice
  std::uint32_t segment = 0;  // number of the segment, from 1; 0: memory of the process alone
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Placement) == 16, "shared layout");

// What a rank says when it arrives at an operation.
struct alignas(kLineBytes) Post {
  Fingerprint fingerprint;
  Placement placement;
};
static_assert(sizeof(Post) == kLineBytes, "shared layout");

struct Turn {
  Post post;
  alignas(kLineBytes) std::uint8_t payload[kEagerBytes];
};
static_assert(sizeof(Turn) == kLineBytes + kEagerBytes, "shared layout");

struct alignas(kPageBytes) RankArea {
  std::atomic<std::uint32_t> step;       // offset 0; wraps around
  std::atomic<std::uint32_t> processor;  // offset 4; where the rank ran when it published its step
  alignas(kLineBytes) Turn turns[2];     // offset 64
  alignas(kPageBytes) std::uint8_t staging[2][kPieceBytes];
};
static_assert(offsetof(RankArea, turns) == kLineBytes, "shared layout");
static_assert(offsetof(RankArea, staging) == 5 * kPageBytes, "shared layout");
static_assert(sizeof(RankArea) == 5 * kPageBytes + 2 * kPieceBytes, "shared layout");

}  // namespace ringrun
