#include <algorithm>
#include <vector>

#include "collectives/tcp/tcp_collectives.h"
#include "reduce/kernels.h"

namespace ringrun {
namespace {

// Up to this many bytes received per rank, one step between all pairs beats the 2(size − 1) steps of the ring.
constexpr std::size_t kExchangeBytes = 64 * 1024;

// What travels as one message: large enough that system calls do not matter, small enough to stay in the L2 cache
// until it is reduced.
constexpr std::size_t kSegmentBytes = 256 * 1024;

// output ← (a ∘ b) ÷ divisor
void reducePair(const Fingerprint& fingerprint, const void* a, const void* b, void* output, std::size_t count,
                std::size_t divisor) {
  const void* const inputs[] = {a, b};
  void* const outputs[] = {output};
  ringrun::reduce(fingerprint.dtype, fingerprint.reduceOp, {inputs, 2, outputs, 1, count, divisor});
}

}  // namespace

void TcpCollectives::allReduce(const Call& call, void* data) {
  if (size_ == 1) return;
  if (call.fingerprint.bytes() * static_cast<std::size_t>(size_ - 1) <= kExchangeBytes) return allReduceByExchange(call, data);
  allReduceInRing(call, static_cast<std::uint8_t*>(data));
}

// 1 step, (size − 1) × bytes sent by each rank. Everybody reduces everything, in the order of the ranks.
void TcpCollectives::allReduceByExchange(const Call& call, void* data) {
  const std::size_t bytes = call.fingerprint.bytes();
  std::uint8_t* const landing = scratch(bytes * static_cast<std::size_t>(size_));
  std::vector<const void*> terms(static_cast<std::size_t>(size_), data);
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    std::uint8_t* const into = landing + static_cast<std::size_t>(peer) * bytes;
    terms[static_cast<std::size_t>(peer)] = into;
    sends.push_back({peer, 0, data, bytes});
    receives.push_back({peer, 0, into, bytes});
  }
  messenger_.transfer(call, sends, receives);
  const Fingerprint& fingerprint = call.fingerprint;
  ringrun::reduce(fingerprint.dtype, fingerprint.reduceOp,
         {terms.data(), terms.size(), &data, 1, static_cast<std::size_t>(fingerprint.count),
          divisorOf(fingerprint.reduceOp, terms.size())});
}

// Ring: reduce-scatter, then all-gather; 2(size − 1) steps, in each of which every rank sends one chunk to the right
// and receives one from the left: 2(size − 1)/size × bytes sent by each.
//
// In step s rank r sends chunk r − s and receives chunk r − s − 1 (modulo size). In the first size − 1 steps, what
// arrives is a partial result: the rank reduces its own term into it in scratch memory and passes it on in the next
// step. The last of these completes a chunk, since it has been at every rank and every rank has compared fingerprints with the
// one before it: from here on all agree, and the caller's memory may be written. The other size − 1 steps pass the
// complete chunks around.
//
// Order of reduction in a chunk: along the ring, beginning right of its owner; equal on every run, and done once for
// all ranks.
void TcpCollectives::allReduceInRing(const Call& call, std::uint8_t* data) {
  const Fingerprint& fingerprint = call.fingerprint;
  const std::size_t size = static_cast<std::size_t>(size_);
  const std::size_t elementBytes = bytesPerElement(fingerprint.dtype);
  const int left = (rank_ - 1 + size_) % size_;
  const int right = (rank_ + 1) % size_;

  const auto chunkAt = [&](std::size_t step) {
    const std::size_t chunk = (static_cast<std::size_t>(rank_) + 2 * size - step) % size;
    return splitEvenly(fingerprint.count, size, chunk, 1);
  };
  const std::size_t longestChunk = (fingerprint.count + size - 1) / size;
  const std::size_t segments = (longestChunk * elementBytes + kSegmentBytes - 1) / kSegmentBytes;
  const auto segmentOf = [&](const Range& chunk, std::size_t s) {
    const Range within = splitEvenly(chunk.length(), segments, s, 1);
    return Range{chunk.begin + within.begin, chunk.begin + within.end};
  };

  // Partial results lie where they land until they are passed on a step later; a landing place is used again two steps
  // later. With two ranks none is ever passed on, and one segment is enough.
  const std::size_t landingBytes = size == 2 ? kSegmentBytes : (longestChunk + segments) * elementBytes;
  std::uint8_t* const landings = scratch(2 * landingBytes);
  const auto landingOf = [&](std::size_t step, const Range& chunk, const Range& segment) {
    const std::size_t within = size == 2 ? 0 : (segment.begin - chunk.begin) * elementBytes;
    return landings + (step % 2) * landingBytes + within;
  };

  const std::size_t lastPartial = size - 2;  // step in which chunks become complete
  std::uint32_t part = 0;
  for (std::size_t step = 0; step < 2 * (size - 1); ++step) {
    const Range sent = chunkAt(step);
    const Range received = chunkAt(step + 1);
    for (std::size_t s = 0; s < segments; ++s, ++part) {
      const Range out = segmentOf(sent, s);
      const Range in = segmentOf(received, s);
      const bool passesPartial = step > 0 && step <= lastPartial;
      const bool receivesPartial = step <= lastPartial;
      std::uint8_t* const own = data + in.begin * elementBytes;
      std::uint8_t* const from = passesPartial ? landingOf(step - 1, sent, out) : data + out.begin * elementBytes;
      std::uint8_t* const into = receivesPartial ? landingOf(step, received, in) : own;
      messenger_.transfer(call, {{right, part, from, out.length() * elementBytes}},
                          {{left, part, into, in.length() * elementBytes}});
      if (step == lastPartial) {
        reducePair(fingerprint, into, own, own, in.length(), divisorOf(fingerprint.reduceOp, size));
      } else if (receivesPartial) {
        reducePair(fingerprint, into, own, into, in.length(), 1);
      }
    }
  }
}

}  // namespace ringrun
