#include "base/waiter.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/descriptors.h"
#include "base/poll_for.h"

namespace ringrun {
namespace {

constexpr std::chrono::microseconds kMinNap{50};
constexpr std::chrono::microseconds kMaxNap{1000};

// With a single futex, a notification between the last check and the sleep is missed, because notify() cannot
// change the word: it is noticed after this delay.
constexpr Milliseconds kOneWordTimeout{10};

bool anyPolls(const std::vector<WaitCondition*>& conditions) {
  return std::any_of(conditions.begin(), conditions.end(), [](const WaitCondition* condition) { return condition->count > 0; });
}

bool anyWatches(const std::vector<WaitCondition*>& conditions) {
  return std::any_of(conditions.begin(), conditions.end(), [](const WaitCondition* condition) { return condition->word != nullptr; });
}

bool anyOccurred(const std::vector<WaitCondition*>& conditions) {
  return std::any_of(conditions.begin(), conditions.end(), [](const WaitCondition* condition) { return condition->occurred; });
}

void lookAtWordsAndClock(const std::vector<WaitCondition*>& conditions) {
  if (conditions.empty()) return;
  const auto now = Clock::now();
  for (WaitCondition* condition : conditions) {
    const bool differs = condition->word != nullptr && condition->word->load(std::memory_order_acquire) != condition->seen;
    condition->occurred |= differs || condition->until <= now;
  }
}

Clock::time_point firstDeadline(const std::vector<WaitCondition*>& conditions) {
  auto first = Clock::time_point::max();
  for (const WaitCondition* condition : conditions) first = std::min(first, condition->until);
  return first;
}

// At least zero and at most a day, which the kernel's types can express.
Clock::duration timeUntil(Clock::time_point moment) {
  if (moment == Clock::time_point::max()) return std::chrono::hours(24);
  return std::clamp<Clock::duration>(moment - Clock::now(), Clock::duration::zero(), std::chrono::hours(24));
}

}  // namespace

Waiter::Waiter() : nap_(kMinNap) {
  Pipe pipe = openPipe("waking the thread that runs operations");
  wakeRead_ = std::move(pipe.readEnd);
  wakeWrite_ = std::move(pipe.writeEnd);
}

void Waiter::awaitAny(const std::vector<WaitCondition*>& conditions) {
  lookAtWordsAndClock(conditions);
  if (anyOccurred(conditions)) {
    if (anyPolls(conditions)) pollAll(conditions, Clock::duration::zero());
  } else if (canWatchWordsOf(conditions)) {
    sleepOnWords(conditions);
  } else {
    sleepInPoll(conditions);
  }
  lookAtWordsAndClock(conditions);
  nap_ = anyOccurred(conditions) ? kMinNap : std::min<Clock::duration>(2 * nap_, kMaxNap);
  handled_ = notifications_.load(std::memory_order_acquire);
}

bool Waiter::canWatchWordsOf(const std::vector<WaitCondition*>& conditions) const {
  if (!kHasFutex || anyPolls(conditions)) return false;
  return conditions.size() <= (canWatchSeveral_ ? kMaxFutexes - 1 : 1);
}

void Waiter::sleepOnWords(const std::vector<WaitCondition*>& conditions) {
  words_.clear();
  wordConditions_.clear();
  words_.push_back({&notifications_, handled_});
  for (WaitCondition* condition : conditions) {
    if (condition->word == nullptr) continue;
    words_.push_back({condition->word, condition->seen});
    wordConditions_.push_back(condition);
  }
  if (!canWatchSeveral_ && !wordConditions_.empty()) return sleepOnOneWord(*wordConditions_.front());
  if (!fallAsleep(Asleep::OnWords)) return;
  if (words_.size() == 1) {
    waitOnFutex(notifications_, handled_, std::chrono::ceil<Milliseconds>(timeUntil(firstDeadline(conditions))));
  } else {
    const int woken = waitOnFutexes(words_, firstDeadline(conditions));
    if (woken > 0) wordConditions_[static_cast<std::size_t>(woken) - 1]->occurred = true;
    if (woken == kCannotWatchSeveral) canWatchSeveral_ = false;
  }
  wakeUp();
}

// The return value does not distinguish a wake-up, the timeout and a notification, so the condition counts as
// occurred.
void Waiter::sleepOnOneWord(WaitCondition& condition) {
  oneWord_.store(condition.word, std::memory_order_relaxed);
  if (!fallAsleep(Asleep::OnOneWord)) return;
  const auto timeout = std::min<Clock::duration>(timeUntil(condition.until), kOneWordTimeout);
  waitOnFutex(*condition.word, condition.seen, std::chrono::ceil<Milliseconds>(timeout));
  wakeUp();
  condition.occurred = true;
}

void Waiter::sleepInPoll(const std::vector<WaitCondition*>& conditions) {
  const auto left = timeUntil(firstDeadline(conditions));
  if (fallAsleep(Asleep::InPoll)) pollAll(conditions, anyWatches(conditions) ? std::min(left, nap_) : left);
  wakeUp();
}

// If poll itself fails, all conditions are marked, so that their owners check their deadlines.
void Waiter::pollAll(const std::vector<WaitCondition*>& conditions, Clock::duration timeout) {
  interests_.clear();
  interests_.push_back({wakeRead_.get(), POLLIN, 0});
  for (const WaitCondition* condition : conditions) {
    interests_.insert(interests_.end(), condition->interests, condition->interests + condition->count);
  }
  const int ready = pollFor(interests_.data(), interests_.size(), timeout);
  const bool broken = ready < 0 && errno != EINTR;
  auto polled = interests_.begin() + 1;
  for (WaitCondition* condition : conditions) {
    for (std::size_t i = 0; i < condition->count; ++i, ++polled) {
      condition->interests[i].revents = ready > 0 ? polled->revents : static_cast<short>(0);
      condition->occurred |= broken || condition->interests[i].revents != 0;
    }
  }
  std::uint8_t bytes[64];
  if (ready > 0 && interests_.front().revents != 0) {
    while (::read(wakeRead_.get(), bytes, sizeof bytes) > 0) {
    }
  }
}

// fallAsleep() and notify() must not lose a notification: the first publishes that it sleeps and then reads the
// count, the second increments the count and then reads the sleep state. All four accesses are sequentially
// consistent, so at least one side sees the other.
bool Waiter::fallAsleep(Asleep how) {
  asleep_.store(how, std::memory_order_seq_cst);
  if (notifications_.load(std::memory_order_seq_cst) == handled_) return true;
  wakeUp();
  return false;
}

void Waiter::wakeUp() { asleep_.store(Asleep::No, std::memory_order_relaxed); }

void Waiter::notify() {
  notifications_.fetch_add(1, std::memory_order_seq_cst);
  switch (asleep_.load(std::memory_order_seq_cst)) {
    case Asleep::No: return;
    case Asleep::OnWords: return wakeAll(notifications_);
    // The word may have been freed if the sleeper woke meanwhile: FUTEX_WAKE does not read it.
    case Asleep::OnOneWord: return wakeAll(*oneWord_.load(std::memory_order_relaxed));
    // A full pipe is readable already.
    case Asleep::InPoll: {
      [[maybe_unused]] const ssize_t written = ::write(wakeWrite_.get(), "", 1);
      return;
    }
  }
}

}  // namespace ringrun
