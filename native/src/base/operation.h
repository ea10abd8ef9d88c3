#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/deadline.h"

namespace ringrun {

// The numbers below travel between processes and cross to JavaScript (native/lib/index.ts): append, never renumber.

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

// In place of a rank: whoever sends first.
constexpr std::uint32_t kAnyRank = ~std::uint32_t{0};

// What all ranks must agree on before any of them touches data. Part of every message, and of the control page in
// shared memory, in this layout (little endian).
struct Fingerprint {
  // Place among the collectives issued on this group, from 1; 0: connecting. The tag, of a message between two ranks.
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;     // elements of each rank's array; 0 where lengths may differ (see collectives/agreement.h)
  Op op = Op::Barrier;
  ReduceOp reduceOp = ReduceOp::None;
  DType dtype = DType::None;
  std::uint8_t onDevice = 0;  // 1: the arrays lie on GPUs (nccl)
  // Rank that gives to or takes from all others; 0 where there is none. Of an AllReduceCoalesced, the number of arrays.
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

// Whether an operation that has ended on one rank has begun on all: each rank needs something of every other.
bool needsEveryRank(Op op);

class WaitReports;

// One operation as a rank carries it out.
struct Call {
  Fingerprint fingerprint;
  Deadline deadline;
  // Set when the process is leaving: waiting ends within kLivenessInterval.
  const std::atomic<bool>& cancelled;
  // Whatever waits reports it there once it takes long.
  WaitReports& reports;
};

}  // namespace ringrun
