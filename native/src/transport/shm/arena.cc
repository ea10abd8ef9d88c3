#include "transport/shm/arena.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "base/futex.h"
#include "base/usable_cpus.h"
#include "base/wait.h"
#include "transport/connect/dial.h"
#include "transport/shm/shared_memory.h"

namespace ringrun {
namespace {

// About 20 to 50 µs: longer than a running peer needs, and short enough not to delay other threads.
constexpr int kSpins = 1000;

// If ranks share processors: yields before sleeping. Sleeping and waking take longer than the peers' work
// between two steps of a small operation.
constexpr int kYields = 50;

// Spins about 2 µs before a yield, unless a missing rank needs this processor. On 4 ranks and 2 processors this
// lowers the context switches for each operation from 1.5 to 0.9, at 1.7 µs each.
constexpr int kOversubscribedSpins = 50;

}  // namespace

Arena::Arena(ControlMesh& mesh, Team team, int place, const Call& call)
    : mesh_(mesh),
      team_(std::move(team)),
      place_(place),
      size_(static_cast<int>(team_.size())),
      isOversubscribed_(size_ > usableCpus()) {
  const std::size_t bytes = sizeof(ArenaHeader) + team_.size() * sizeof(RankArea);
  memory_ = shareMemory(mesh, team_, rankAt(place_), bytes, call);
  // New memory is zeroed, which is the initial value of every counter.
  header_ = reinterpret_cast<ArenaHeader*>(memory_.data());
  areas_ = reinterpret_cast<RankArea*>(memory_.data() + sizeof(ArenaHeader));
  if (place_ == 0) {
    header_->magic = kArenaMagic;
    header_->size = static_cast<std::uint32_t>(size_);
    header_->bytes = bytes;
  }
  post(call, {});
  arrive(call);
  if (header_->magic != kArenaMagic || header_->size != static_cast<std::uint32_t>(size_) || header_->bytes != bytes) {
    throw Failure(FailureCode::System, {},
                  "rank " + std::to_string(rankAt(0)) +
                      " uses a different shared-memory layout. Install the same version of ringrun on every rank");
  }
}

void Arena::post(const Call& call, const Placement& placement) {
  ++turn_;
  Post& mine = turnOf(place_).post;
  mine.fingerprint = call.fingerprint;
  mine.placement = placement;
}

void Arena::arrive(const Call& call) {
  publish();
  awaitAll(call, true);
}

void Arena::step(const Call& call) {
  publish();
  awaitAll(call, false);
}

// publish() and sleepUntilAllReached() must not lose a wake-up: the first writes its step and then reads the
// sleepers, the second counts itself as a sleeper and then reads the steps. All accesses are sequentially
// consistent, so at least one side sees the other. Of several ranks that publish at once, the last one sees the
// steps of all.
void Arena::publish() {
  Post& mine = turnOf(place_).post;
  mine.processor.store(currentProcessor(), std::memory_order_relaxed);
  mine.step.store(++step_, std::memory_order_seq_cst);
  if (header_->sleepers.load(std::memory_order_seq_cst) != 0 && haveAllReached()) wakeRanks();
}

bool Arena::hasReached(int peer) const {
  const std::uint32_t theirs = turnOf(peer).post.step.load(std::memory_order_seq_cst);
  return static_cast<std::int32_t>(theirs - step_) >= 0;
}

bool Arena::haveAllReached() const {
  for (int peer = 0; peer < size_; ++peer) {
    if (!hasReached(peer)) return false;
  }
  return true;
}

// Checks each peer as soon as it arrives, so that ranks that disagree do not wait for the others.
void Arena::awaitAll(const Call& call, bool checksAgreement) {
  int next = 0;
  const auto advance = [&] {
    for (; next < size_ && hasReached(next); ++next) {
      if (checksAgreement && next != place_) checkAgreementWith(next, call);
    }
    return next == size_;
  };
  if (advance()) return;
  const auto spin = [&](int spins) {
    for (int i = 0; i < spins; ++i) {
      pauseBriefly();
      if (advance()) return true;
    }
    return false;
  };
  if (!isOversubscribed_) {
    if (mover_.moveAwayFrom(processorOf(next)) && spin(kSpins)) return;
  } else {
    for (int i = 0; i < kYields; ++i) {
      if (!isMissingPeerOnThisProcessor() && spin(kOversubscribedSpins)) return;
      std::this_thread::yield();
      if (advance()) return;
    }
  }
  sleepUntilAllReached(call);
  advance();
}

// True if a missing rank last ran on the processor of this thread.
bool Arena::isMissingPeerOnThisProcessor() const {
  const std::uint32_t here = currentProcessor();
  for (int peer = 0; peer < size_; ++peer) {
    if (!hasReached(peer) && processorOf(peer) == here) return true;
  }
  return false;
}

void Arena::sleepUntilAllReached(const Call& call) {
  const auto began = Clock::now();
  for (;;) {
    header_->sleepers.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = header_->wakeups.load(std::memory_order_seq_cst);
    if (!haveAllReached()) sleepWhile(header_->wakeups, seen, call.deadline.leftWithin(kLivenessInterval));
    header_->sleepers.fetch_sub(1, std::memory_order_seq_cst);
    if (haveAllReached()) return;
    mesh_.receive();
    // A peer may publish its step and end before this check: its step counts.
    if (haveAllReached()) return;
    checkWhileWaiting(call, began);
  }
}

// Throws if the wait must end.
void Arena::checkWhileWaiting(const Call& call, Clock::time_point began) {
  mesh_.throwIfFailedBy(call.fingerprint.sequence);
  for (int peer = 0; peer < size_; ++peer) {
    if (!hasReached(peer) && mesh_.hasEnded(rankAt(peer))) throw mesh_.endFailure(rankAt(peer));
  }
  checkAgreementWithArrived(call);
  const auto waited = Clock::now() - began;
  if (waited >= kLivenessInterval) mesh_.sendStatus(call.fingerprint);
  mesh_.reportWait(call, waited, [this] { return missing(); });
  if (call.deadline.passed()) throw Failure(FailureCode::Timeout, mesh_.missingBehind(missing()), "waiting in shared memory");
  throwIfTimedOutOrCancelled(call, rankAt(place_), "");
}

void Arena::checkAgreementWith(int peer, const Call& call) const {
  const Fingerprint& theirs = postOf(peer).fingerprint;
  if (theirs == call.fingerprint) return;
  throw Failure(FailureCode::Mismatch, {{rankAt(place_), call.fingerprint}, {rankAt(peer), theirs}}, "the ranks called different operations");
}

// Two ranks that disagree do not wait for a third.
void Arena::checkAgreementWithArrived(const Call& call) const {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != place_ && hasReached(peer)) checkAgreementWith(peer, call);
  }
}

std::vector<InvolvedRank> Arena::missing() const {
  std::vector<InvolvedRank> missing;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == place_ || hasReached(peer)) continue;
    // A rank that has not arrived wrote its last post to the other turn. A rank in the middle of this operation
    // wrote it here.
    const Turn* turns = areas_[peer].turns;
    const Fingerprint& current = turns[turn_ & 1].post.fingerprint;
    const Fingerprint& previous = turns[(turn_ + 1) & 1].post.fingerprint;
    const Fingerprint& last = current.sequence > previous.sequence ? current : previous;
    missing.push_back({rankAt(peer), last.sequence == 0 ? std::nullopt : std::optional(last)});
  }
  return missing;
}

void Arena::wakeRanks() const {
  header_->wakeups.fetch_add(1, std::memory_order_seq_cst);
  wakeAll(header_->wakeups);
}

}  // namespace ringrun
