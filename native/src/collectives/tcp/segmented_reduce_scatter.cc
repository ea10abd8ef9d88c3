#include "collectives/tcp/segmented_reduce_scatter.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ringrun {
namespace {

// All ranks' terms of a segment: they fit into the cache until they are reduced.
constexpr std::size_t kReceiveBufferBytes = 2 * 1024 * 1024;

// Limits of one message.
constexpr std::size_t kMaxSegmentBytes = 256 * 1024;
constexpr std::size_t kMinSegmentBytes = 4 * 1024;

// Equal on all ranks, and a whole number of elements of any dtype.
std::size_t segmentBytesFor(int size) {
  const std::size_t share = kReceiveBufferBytes / static_cast<std::size_t>(size) / 64 * 64;
  return std::clamp(share, kMinSegmentBytes, kMaxSegmentBytes);
}

}  // namespace

SegmentedReduceScatter::SegmentedReduceScatter(TeamOperation& team, const Combination& combination, Blocks parts,
                                               Order order)
    : team_(team),
      combination_(combination),
      parts_(std::move(parts)),
      perSegment_(segmentBytesFor(team.size()) / combination.elementBytes()),
      receiveBuffer_(team.receiveBuffer(segmentBytesFor(team.size()) * static_cast<std::size_t>(team.size()))),
      isLent_(order == Order::AheadOnLongLinks),
      ahead_(order == Order::InTurn ? 0 : team.sendsAhead(team.above(), segments())) {}

std::size_t SegmentedReduceScatter::segments() const {
  const auto shorter = [](const Block& a, const Block& b) { return a.count < b.count; };
  return segmentsIn(std::max_element(parts_.begin(), parts_.end(), shorter)->count, perSegment_);
}

Range SegmentedReduceScatter::segment(int place, std::size_t s) const { return segmentOf({0, part(place).count}, perSegment_, s); }

void SegmentedReduceScatter::exchange(std::size_t s) {
  const std::size_t elementBytes = combination_.elementBytes();
  const std::size_t ownBytes = segment(team_.place(), s).length() * elementBytes;
  std::vector<TeamOperation::Send> sends;
  std::vector<TeamOperation::Receive> receives;
  const std::size_t last = segments() - 1;
  for (; begun_ <= std::min(s + ahead_, last); ++begun_) {
    // Each rank starts with a different receiver.
    for (int distance = 1; distance < team_.size(); ++distance) {
      const int to = team_.above(distance);
      const Range theirs = segment(to, begun_);
      if (theirs.length() > 0) sends.push_back({to, ownTermsAt(to, theirs.begin), theirs.length() * elementBytes, isLent_});
    }
  }
  for (int distance = 1; distance < team_.size(); ++distance) {
    const int from = team_.below(distance);
    if (ownBytes > 0) receives.push_back({from, receiveBufferOf(from), ownBytes});
  }
  team_.transfer(sends, receives, s == last ? 0 : ahead_);
}

void SegmentedReduceScatter::reduceInto(void* result, std::size_t s) const {
  const Range own = segment(team_.place(), s);
  std::vector<const void*> terms;
  for (int place = 0; place < team_.size(); ++place) {
    terms.push_back(place == team_.place() ? ownTermsAt(place, own.begin) : receiveBufferOf(place));
  }
  combination_.complete(terms, result, own.length());
}

// The buffer has an unused place for this rank's own terms, which holds the result.
const void* SegmentedReduceScatter::reduced(std::size_t s) const {
  reduceInto(receiveBufferOf(team_.place()), s);
  return receiveBufferOf(team_.place());
}

const std::uint8_t* SegmentedReduceScatter::ownTermsAt(int place, std::size_t element) const {
  return static_cast<const std::uint8_t*>(part(place).data) + element * combination_.elementBytes();
}

std::uint8_t* SegmentedReduceScatter::receiveBufferOf(int place) const {
  return receiveBuffer_ + static_cast<std::size_t>(place) * perSegment_ * combination_.elementBytes();
}

Blocks evenParts(const TeamOperation& team, const Combination& combination, void* data, std::size_t count) {
  Blocks parts;
  for (int place = 0; place < team.size(); ++place) {
    const Range range = splitEvenly(count, static_cast<std::size_t>(team.size()), static_cast<std::size_t>(place), 1);
    parts.push_back({static_cast<std::uint8_t*>(data) + range.begin * combination.elementBytes(), range.length()});
  }
  return parts;
}

}  // namespace ringrun
