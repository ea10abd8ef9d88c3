#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/agree_on_lengths.h"
#include "nccl/nccl_collectives.h"
#include "nccl/pieces.h"

namespace ringrun {
namespace {

bool areEquallyLong(const Blocks& blocks) {
  const auto isAsLong = [&](const Block& block) { return block.count == blocks.front().count; };
  return std::all_of(blocks.begin(), blocks.end(), isAsLong);
}

// True if the blocks are contiguous.
bool areAdjacent(const Blocks& blocks, std::size_t elementBytes) {
  const auto* next = static_cast<const std::uint8_t*>(blocks.front().data);
  for (const Block& block : blocks) {
    if (block.data != next) return false;
    next += block.count * elementBytes;
  }
  return true;
}

}  // namespace

void NcclCollectives::agreeOnRow(const Call& call, const Row& row, bool isReduceScatter) {
  const Counts counts(gatherRows(*cpu_, call, row));
  if (isReduceScatter) {
    checkReduceScatter(call.fingerprint, size_, counts);
  } else {
    checkExchange(call.fingerprint, size_, counts);
  }
}

void NcclCollectives::reduceScatter(const Call& call, const Blocks& inputs, const Block& output) {
  if (!hasNcclReduceOp(call.fingerprint.reduceOp)) return cpu_->reduceScatter(call, inputs, output);
  agreeOnRow(call, rowOf(inputs, rank_, output), true);
  if (longestOf(inputs) == 0) return;
  onGpu([&] {
    if (areEquallyLong(inputs)) return reduceScatterEqual(call, inputs, output);
    reduceScatterUnequal(call, inputs, output);
  });
}

void NcclCollectives::reduceScatterEqual(const Call& call, const Blocks& inputs, const Block& output) {
  const DType dtype = call.fingerprint.dtype;
  const std::size_t elementBytes = bytesPerElement(dtype);
  const auto length = static_cast<std::size_t>(output.count);
  if (isOnDevice(call)) {
    const void* all = inputs.front().data;
    if (!areAdjacent(inputs, elementBytes)) {
      std::uint8_t* const copy = scratch(inputs.size() * length * elementBytes);
      for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
        stream().copyOnDevice(copy + rank * length * elementBytes, inputs[rank].data, length * elementBytes);
      }
      all = copy;
    }
    communicator_.reduceScatter(call, all, output.data, length);
    return awaitStream(call);
  }
  const std::size_t most = pieceElements(dtype, inputs.size());
  staging_.run(call, segmentsIn(length, most), [&](std::size_t index) {
    Piece piece;
    PieceBuilder builder(piece, dtype);
    const Range range = inPiece(output, most, index);
    const std::size_t bytes = range.length() * elementBytes;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) builder.addInputAt(rank * bytes, inputs[rank], range);
    const std::size_t own = static_cast<std::size_t>(rank_) * bytes;
    builder.addOutputAt(own, output, range);
    piece.operate = [this, &call, range, own](std::uint8_t* data) {
      communicator_.reduceScatter(call, data, data + own, range.length());
    };
    return piece;
  });
}

// One reduction to each rank, fused; ranks without elements are skipped on all ranks.
void NcclCollectives::reduceScatterUnequal(const Call& call, const Blocks& inputs, const Block& output) {
  const DType dtype = call.fingerprint.dtype;
  if (isOnDevice(call)) {
    communicator_.fuse([&] {
      for (int root = 0; root < size_; ++root) {
        const Block& input = inputs[static_cast<std::size_t>(root)];
        void* const into = root == rank_ ? output.data : input.data;
        const auto count = static_cast<std::size_t>(input.count);
        if (count > 0) communicator_.reduceTo(call, input.data, into, count, root);
      }
    });
    return awaitStream(call);
  }
  const std::size_t most = pieceElements(dtype, inputs.size());
  staging_.run(call, segmentsIn(longestOf(inputs), most), [&](std::size_t index) {
    Piece piece;
    PieceBuilder builder(piece, dtype);
    std::vector<std::pair<std::size_t, std::size_t>> places;  // offset and length of each rank's part
    for (std::size_t root = 0; root < inputs.size(); ++root) {
      const Range range = inPiece(inputs[root], most, index);
      places.emplace_back(builder.addInput(inputs[root], range), range.length());
      if (static_cast<int>(root) == rank_ && range.length() > 0) builder.addOutputAt(places.back().first, output, range);
    }
    piece.operate = [this, &call, places = std::move(places)](std::uint8_t* data) {
      communicator_.fuse([&] {
        for (std::size_t root = 0; root < places.size(); ++root) {
          const auto& [at, count] = places[root];
          if (count > 0) communicator_.reduceTo(call, data + at, data + at, count, static_cast<int>(root));
        }
      });
    };
    return piece;
  });
}

void NcclCollectives::exchange(const Call& call, const Exchange& exchange) {
  agreeOnRow(call, rowOf(exchange), false);
  if (longestOf(exchange.sends) == 0 && longestOf(exchange.receives) == 0) return;
  onGpu([&] {
    const auto own = static_cast<std::size_t>(rank_);
    const Block& sent = exchange.sends[own];
    const Block& received = exchange.receives[own];
    const std::size_t bytes = static_cast<std::size_t>(received.count) * bytesPerElement(call.fingerprint.dtype);
    if (bytes > 0 && sent.data != received.data) {
      if (isOnDevice(call)) stream().copyOnDevice(received.data, sent.data, bytes);
      if (!isOnDevice(call)) std::memmove(received.data, sent.data, bytes);
    }
    if (call.fingerprint.op == Op::AllGather && areEquallyLong(exchange.receives)) return allGatherEqual(call, exchange);
    sendAndReceive(call, exchange);
  });
}

// Every rank knows all lengths, so either all ranks call this or none.
void NcclCollectives::allGatherEqual(const Call& call, const Exchange& exchange) {
  const DType dtype = call.fingerprint.dtype;
  const std::size_t elementBytes = bytesPerElement(dtype);
  const auto own = static_cast<std::size_t>(rank_);
  const Block& sent = exchange.sends[own];
  const auto length = static_cast<std::size_t>(sent.count);
  const Blocks& receives = exchange.receives;
  if (isOnDevice(call)) {
    const bool isInPlace = areAdjacent(receives, elementBytes);
    auto* const first = static_cast<std::uint8_t*>(receives.front().data);
    std::uint8_t* const all = isInPlace ? first : scratch(receives.size() * length * elementBytes);
    communicator_.allGather(call, sent.data, all, length);
    communicator_.settle(call);
    for (std::size_t rank = 0; rank < receives.size() && !isInPlace; ++rank) {
      const std::size_t bytes = length * elementBytes;
      if (rank != own) stream().copyOnDevice(receives[rank].data, all + rank * bytes, bytes);
    }
    return awaitStream(call);
  }
  const std::size_t most = pieceElements(dtype, receives.size());
  staging_.run(call, segmentsIn(length, most), [&](std::size_t index) {
    Piece piece;
    PieceBuilder builder(piece, dtype);
    const Range range = inPiece(sent, most, index);
    const std::size_t bytes = range.length() * elementBytes;
    piece.bytes = receives.size() * bytes;
    builder.addInputAt(own * bytes, sent, range);
    for (std::size_t rank = 0; rank < receives.size(); ++rank) {
      if (rank != own) builder.addOutputAt(rank * bytes, receives[rank], range);
    }
    piece.operate = [this, &call, range, at = own * bytes](std::uint8_t* data) {
      communicator_.allGather(call, data + at, data, range.length());
    };
    return piece;
  });
}

// One message to and from each rank, fused. Messages of two ranks match in the order of the pieces, in which
// they have equal lengths; the number of pieces may differ between ranks.
void NcclCollectives::sendAndReceive(const Call& call, const Exchange& exchange) {
  struct Transfer {
    std::size_t at;
    std::size_t count;
    int peer;
  };
  const DType dtype = call.fingerprint.dtype;
  if (isOnDevice(call)) {
    communicator_.fuse([&] {
      for (int peer = 0; peer < size_; ++peer) {
        const Block& sent = exchange.sends[static_cast<std::size_t>(peer)];
        const Block& received = exchange.receives[static_cast<std::size_t>(peer)];
        if (peer == rank_) continue;
        if (sent.count > 0) communicator_.send(call, sent.data, static_cast<std::size_t>(sent.count), peer);
        if (received.count > 0) communicator_.receive(call, received.data, static_cast<std::size_t>(received.count), peer);
      }
    });
    return awaitStream(call);
  }
  Exchange others = exchange;
  others.sends[static_cast<std::size_t>(rank_)] = {};
  others.receives[static_cast<std::size_t>(rank_)] = {};
  const std::size_t most = pieceElements(dtype, 2 * others.sends.size());
  const std::size_t longest = std::max(longestOf(others.sends), longestOf(others.receives));
  staging_.run(call, segmentsIn(longest, most), [&](std::size_t index) {
    Piece piece;
    PieceBuilder builder(piece, dtype);
    std::vector<Transfer> sends;
    std::vector<Transfer> receives;
    std::map<const void*, std::size_t> inputs;  // an allGather sends one block to all ranks: copied in once
    for (int peer = 0; peer < size_; ++peer) {
      const Block& outgoing = others.sends[static_cast<std::size_t>(peer)];
      const Block& incoming = others.receives[static_cast<std::size_t>(peer)];
      const Range sent = inPiece(outgoing, most, index);
      const Range received = inPiece(incoming, most, index);
      if (sent.length() > 0) {
        const auto known = call.fingerprint.op == Op::AllGather ? inputs.find(outgoing.data) : inputs.end();
        const std::size_t at = known == inputs.end() ? builder.addInput(outgoing, sent) : known->second;
        inputs.emplace(outgoing.data, at);
        sends.push_back({at, sent.length(), peer});
      }
      if (received.length() > 0) receives.push_back({builder.addOutput(incoming, received), received.length(), peer});
    }
    piece.operate = [this, &call, sends = std::move(sends), receives = std::move(receives)](std::uint8_t* data) {
      communicator_.fuse([&] {
        for (const Transfer& one : sends) communicator_.send(call, data + one.at, one.count, one.peer);
        for (const Transfer& one : receives) communicator_.receive(call, data + one.at, one.count, one.peer);
      });
    };
    return piece;
  });
}

}  // namespace ringrun
