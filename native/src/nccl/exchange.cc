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

// Whether the blocks lie one behind the other.
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
  const Counts counts(gatherRows(*beside_, call, row));
  if (isReduceScatter) {
    checkReduceScatter(call.fingerprint, size_, counts);
  } else {
    checkExchange(call.fingerprint, size_, counts);
  }
}

void NcclCollectives::reduceScatter(const Call& call, const Blocks& inputs, const Block& output) {
  if (!hasNcclReduceOp(call.fingerprint.reduceOp)) return beside_->reduceScatter(call, inputs, output);
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
  staging_.carryOut(call, segmentsIn(length, most), [&](std::size_t index) {
    Piece piece;
    PieceBuilder builder(piece, dtype);
    const Range range = inPiece(output, most, index);
    const std::size_t bytes = range.length() * elementBytes;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) builder.giveAt(rank * bytes, inputs[rank], range);
    const std::size_t own = static_cast<std::size_t>(rank_) * bytes;
    builder.takeAt(own, output, range);
    piece.operate = [this, &call, range, own](std::uint8_t* data) {
      communicator_.reduceScatter(call, data, data + own, range.length());
    };
    return piece;
  });
}

// A reduction to each rank, all of them fused: those of ranks that have nothing are left out everywhere.
void NcclCollectives::reduceScatterUnequal(const Call& call, const Blocks& inputs, const Block& output) {
  const DType dtype = call.fingerprint.dtype;
  if (isOnDevice(call)) {
    communicator_.together([&] {
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
  staging_.carryOut(call, segmentsIn(longestOf(inputs), most), [&](std::size_t index) {
    Piece piece;
    PieceBuilder builder(piece, dtype);
    std::vector<std::pair<std::size_t, std::size_t>> places;  // where each rank's part lies, and its length
    for (std::size_t root = 0; root < inputs.size(); ++root) {
      const Range range = inPiece(inputs[root], most, index);
      places.emplace_back(builder.give(inputs[root], range), range.length());
      if (static_cast<int>(root) == rank_ && range.length() > 0) builder.takeAt(places.back().first, output, range);
    }
    piece.operate = [this, &call, places = std::move(places)](std::uint8_t* data) {
      communicator_.together([&] {
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
  if (longestOf(exchange.gives) == 0 && longestOf(exchange.takes) == 0) return;
  onGpu([&] {
    const auto own = static_cast<std::size_t>(rank_);
    const Block& given = exchange.gives[own];
    const Block& taken = exchange.takes[own];
    const std::size_t bytes = static_cast<std::size_t>(taken.count) * bytesPerElement(call.fingerprint.dtype);
    if (bytes > 0 && given.data != taken.data) {
      if (isOnDevice(call)) stream().copyOnDevice(taken.data, given.data, bytes);
      if (!isOnDevice(call)) std::memmove(taken.data, given.data, bytes);
    }
    if (call.fingerprint.op == Op::AllGather && areEquallyLong(exchange.takes)) return allGatherEqual(call, exchange);
    sendAndReceive(call, exchange);
  });
}

// Every rank knows all lengths, so all of them come here, or none.
void NcclCollectives::allGatherEqual(const Call& call, const Exchange& exchange) {
  const DType dtype = call.fingerprint.dtype;
  const std::size_t elementBytes = bytesPerElement(dtype);
  const auto own = static_cast<std::size_t>(rank_);
  const Block& given = exchange.gives[own];
  const auto length = static_cast<std::size_t>(given.count);
  const Blocks& takes = exchange.takes;
  if (isOnDevice(call)) {
    const bool isInPlace = areAdjacent(takes, elementBytes);
    auto* const first = static_cast<std::uint8_t*>(takes.front().data);
    std::uint8_t* const all = isInPlace ? first : scratch(takes.size() * length * elementBytes);
    communicator_.allGather(call, given.data, all, length);
    communicator_.settle(call);
    for (std::size_t rank = 0; rank < takes.size() && !isInPlace; ++rank) {
      const std::size_t bytes = length * elementBytes;
      if (rank != own) stream().copyOnDevice(takes[rank].data, all + rank * bytes, bytes);
    }
    return awaitStream(call);
  }
  const std::size_t most = pieceElements(dtype, takes.size());
  staging_.carryOut(call, segmentsIn(length, most), [&](std::size_t index) {
    Piece piece;
    PieceBuilder builder(piece, dtype);
    const Range range = inPiece(given, most, index);
    const std::size_t bytes = range.length() * elementBytes;
    piece.bytes = takes.size() * bytes;
    builder.giveAt(own * bytes, given, range);
    for (std::size_t rank = 0; rank < takes.size(); ++rank) {
      if (rank != own) builder.takeAt(rank * bytes, takes[rank], range);
    }
    piece.operate = [this, &call, range, at = own * bytes](std::uint8_t* data) {
      communicator_.allGather(call, data + at, data, range.length());
    };
    return piece;
  });
}

// A message to each rank and one from each, all of them fused. Messages of two ranks meet in the order of the pieces, in
// which they have the same lengths; how many pieces there are may differ from rank to rank.
void NcclCollectives::sendAndReceive(const Call& call, const Exchange& exchange) {
  struct Transfer {
    std::size_t at;
    std::size_t count;
    int peer;
  };
  const DType dtype = call.fingerprint.dtype;
  if (isOnDevice(call)) {
    communicator_.together([&] {
      for (int peer = 0; peer < size_; ++peer) {
        const Block& given = exchange.gives[static_cast<std::size_t>(peer)];
        const Block& taken = exchange.takes[static_cast<std::size_t>(peer)];
        if (peer == rank_) continue;
        if (given.count > 0) communicator_.send(call, given.data, static_cast<std::size_t>(given.count), peer);
        if (taken.count > 0) communicator_.receive(call, taken.data, static_cast<std::size_t>(taken.count), peer);
      }
    });
    return awaitStream(call);
  }
  Exchange others = exchange;
  others.gives[static_cast<std::size_t>(rank_)] = {};
  others.takes[static_cast<std::size_t>(rank_)] = {};
  const std::size_t most = pieceElements(dtype, 2 * others.gives.size());
  const std::size_t longest = std::max(longestOf(others.gives), longestOf(others.takes));
  staging_.carryOut(call, segmentsIn(longest, most), [&](std::size_t index) {
    Piece piece;
    PieceBuilder builder(piece, dtype);
    std::vector<Transfer> sends;
    std::vector<Transfer> receives;
    std::map<const void*, std::size_t> given;  // an allGather gives one block to allRanks: it goes in once
    for (int peer = 0; peer < size_; ++peer) {
      const Block& give = others.gives[static_cast<std::size_t>(peer)];
      const Block& take = others.takes[static_cast<std::size_t>(peer)];
      const Range sent = inPiece(give, most, index);
      const Range received = inPiece(take, most, index);
      if (sent.length() > 0) {
        const auto known = call.fingerprint.op == Op::AllGather ? given.find(give.data) : given.end();
        const std::size_t at = known == given.end() ? builder.give(give, sent) : known->second;
        given.emplace(give.data, at);
        sends.push_back({at, sent.length(), peer});
      }
      if (received.length() > 0) receives.push_back({builder.take(take, received), received.length(), peer});
    }
    piece.operate = [this, &call, sends = std::move(sends), receives = std::move(receives)](std::uint8_t* data) {
      communicator_.together([&] {
        for (const Transfer& one : sends) communicator_.send(call, data + one.at, one.count, one.peer);
        for (const Transfer& one : receives) communicator_.receive(call, data + one.at, one.count, one.peer);
      });
    };
    return piece;
  });
}

}  // namespace ringrun
