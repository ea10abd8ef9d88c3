#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/deadline.h"

namespace ringrun {

// The numbers below travel between processes and cross to JavaScript (native/lib/index.ts): append, never renumber.

enum class Op : std::uint8_t { Barrier = 1, AllReduce = 2, Broadcast = 3, Allocate = 4, Destroy = 5, Connect = 6 };
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
};

std::size_t bytesPerElement(DType dtype);

// What all ranks must agree on before any of them touches data. Part of every message, and of the control page in
// shared memory, in this layout (little endian).
struct Fingerprint {
  std::uint64_t sequence = 0;  // place among the operations issued on this group, from 1; 0: connecting
  std::uint64_t count = 0;     // elements
  Op op = Op::Barrier;
  ReduceOp reduceOp = ReduceOp::None;
  DType dtype = DType::None;
  std::uint8_t reserved = 0;
  std::uint32_t root = 0;  // rank whose values everybody gets; 0 where there is none

  std::size_t bytes() const { return static_cast<std::size_t>(count) * bytesPerElement(dtype); }
};
static_assert(sizeof(Fingerprint) == 24, "the layout is the wire format");

bool operator==(const Fingerprint& a, const Fingerprint& b);
inline bool operator!=(const Fingerprint& a, const Fingerprint& b) { return !(a == b); }

// "allReduce #41 (float32, 1,048,576 elements, SUM)"
std::string describe(const Fingerprint& fingerprint);

// One operation as a rank carries it out.
struct Call {
  Fingerprint fingerprint;
  Deadline deadline;
  // Set when the process is leaving: waiting ends within kLivenessInterval.
  const std::atomic<bool>& cancelled;
};

}  // namespace ringrun
