#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/deadline.h"

namespace ringrun {

// These numbers are part of the wire format: append new ones, never renumber. TypeScript has them from
// lib/generated/numbers.ts: run `npm run generate` after a change.

enum class Op : std::uint8_t {
  Barrier = 1,
  AllReduce = 2,
  Broadcast = 3,
  Allocate = 4,
  Destroy = 5,
  Connect = 6,
  Reduce = 7,
  ReduceScatter = 8,
  AllGather = 9,
  Gather = 10,
  Scatter = 11,
  AllToAll = 12,
  MonitoredBarrier = 13,
  Send = 14,
  Receive = 15,
  CopyToDevice = 16,
  CopyToHost = 17,
  AllReduceCoalesced = 18,
  NewGroup = 19,
  GpuStep = 20,  // the collectives of a program on GPUs
  AllReduceQuantized = 21,
  MeasureLinks = 22,
};
enum class ReduceOp : std::uint8_t {
  None = 0,
  Sum = 1,
  Avg = 2,
  Product = 3,
  Min = 4,
  Max = 5,
  Band = 6,
  Bor = 7,
  Bxor = 8,
};
enum class DType : std::uint8_t {
  None = 0,
  Float32 = 1,
  Float64 = 2,
  Int8 = 3,
  UInt8 = 4,
  Int32 = 5,
  UInt32 = 6,
  Int64 = 7,
  UInt64 = 8,
  Float16 = 9,    // IEEE 754 binary16
  BFloat16 = 10,  // the upper half of a float32
};

std::size_t bytesPerElement(DType dtype);

// As a rank: a receive from any rank.
constexpr std::uint32_t kAnyRank = ~std::uint32_t{0};

// The parameters that all ranks must agree on before any of them touches data. Part of every message and of the shared control
// memory, in this layout (little endian).
struct Fingerprint {
  // Position among the collectives of the group, from 1; 0 while connecting. For a point-to-point message: its
  // tag.
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;     // elements of each rank's array; 0 if lengths may differ (collectives/lengths.h)
  Op op = Op::Barrier;
  ReduceOp reduceOp = ReduceOp::None;
  DType dtype = DType::None;
  std::uint8_t onDevice = 0;  // 1: the arrays are on GPUs (nccl)
  // Root rank of a rooted operation, else 0; the number of arrays of an AllReduceCoalesced, of collectives of a GpuStep, of
  // bits of an element of an AllReduceQuantized.
  std::uint32_t root = 0;

  std::size_t bytes() const { return static_cast<std::size_t>(count) * bytesPerElement(dtype); }
};
static_assert(sizeof(Fingerprint) == 24, "the layout is the wire format");

bool operator==(const Fingerprint& a, const Fingerprint& b);
inline bool operator!=(const Fingerprint& a, const Fingerprint& b) { return !(a == b); }

// "1,048,576"
std::string withThousandsSeparated(std::uint64_t number);

// "allReduce #41 (float32, 1,048,576 elements, SUM)"
std::string describe(const Fingerprint& fingerprint);

// "allReduce #41"
std::string nameAndNumberOf(const Fingerprint& fingerprint);

// True if the completion on one rank implies that all ranks have begun it, because each rank needs data of
// every other.
bool needsEveryRank(Op op);

class WaitReports;

// One operation of a rank.
struct Call {
  Fingerprint fingerprint;
  const Deadline& deadline;
  // Set when the process destroys the group: waits end within kLivenessInterval.
  const std::atomic<bool>& cancelled;
  // Receives reports of long waits.
  WaitReports& reports;
};

}  // namespace ringrun
