#include "base/sleeper.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/failure.h"

namespace ringrun {
namespace {

constexpr std::chrono::microseconds kShortestNap{50};
constexpr std::chrono::microseconds kLongestNap{1000};

// A ring may come after the word was looked at and before the kernel watches it, and the word is not ours to change:
// such a ring is heard this much later.
constexpr Milliseconds kPatienceOnOneWord{10};

bool anyPolls(const std::vector<Reason*>& reasons) {
  return std::any_of(reasons.begin(), reasons.end(), [](const Reason* reason) { return reason->count > 0; });
}

bool anyWatches(const std::vector<Reason*>& reasons) {
  return std::any_of(reasons.begin(), reasons.end(), [](const Reason* reason) { return reason->word != nullptr; });
}

bool anyOccurred(const std::vector<Reason*>& reasons) {
  return std::any_of(reasons.begin(), reasons.end(), [](const Reason* reason) { return reason->occurred; });
}

void lookAtWordsAndClock(const std::vector<Reason*>& reasons) {
  if (reasons.empty()) return;
  const auto now = Clock::now();
  for (Reason* reason : reasons) {
    const bool differs = reason->word != nullptr && reason->word->load(std::memory_order_acquire) != reason->seen;
    reason->occurred |= differs || reason->until <= now;
  }
}

Clock::time_point firstDeadline(const std::vector<Reason*>& reasons) {
  auto first = Clock::time_point::max();
  for (const Reason* reason : reasons) first = std::min(first, reason->until);
  return first;
}

// Never negative, and a day where it is longer: what the kernel's types can express.
Clock::duration timeUntil(Clock::time_point moment) {
  if (moment == Clock::time_point::max()) return std::chrono::hours(24);
  return std::clamp<Clock::duration>(moment - Clock::now(), Clock::duration::zero(), std::chrono::hours(24));
}

int pollFor(std::vector<pollfd>& interests, Clock::duration patience) {
#ifdef __linux__
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(patience).count();
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  timeout.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  return ::ppoll(interests.data(), static_cast<nfds_t>(interests.size()), &timeout, nullptr);
#else
  const auto ms = std::chrono::ceil<Milliseconds>(patience).count();
  return ::poll(interests.data(), static_cast<nfds_t>(interests.size()), static_cast<int>(ms));
#endif
}

void prepareEnd(int fd) {
  if (::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) throwSystem("fcntl", errno, "O_NONBLOCK");
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) throwSystem("fcntl", errno, "FD_CLOEXEC");
}

}  // namespace

Sleeper::Sleeper() : nap_(kShortestNap) {
  int ends[2];
  if (::pipe(ends) != 0) throwSystem("pipe", errno, "waking the thread that runs operations");
  bell_.reset(ends[0]);
  button_.reset(ends[1]);
  prepareEnd(bell_.get());
  prepareEnd(button_.get());
}

void Sleeper::awaitAny(const std::vector<Reason*>& reasons) {
  lookAtWordsAndClock(reasons);
  if (anyOccurred(reasons)) {
    if (anyPolls(reasons)) pollAll(reasons, Clock::duration::zero());
  } else if (canWatchWordsOf(reasons)) {
    sleepOnWords(reasons);
  } else {
    sleepInPoll(reasons);
  }
  lookAtWordsAndClock(reasons);
  nap_ = anyOccurred(reasons) ? kShortestNap : std::min<Clock::duration>(2 * nap_, kLongestNap);
  heard_ = rung_.load(std::memory_order_acquire);
}

bool Sleeper::canWatchWordsOf(const std::vector<Reason*>& reasons) const {
  if (!kHasFutex || anyPolls(reasons)) return false;
  return reasons.size() <= (canWatchSeveral_ ? kMostFutexes - 1 : 1);
}

void Sleeper::sleepOnWords(const std::vector<Reason*>& reasons) {
  words_.clear();
  wordReasons_.clear();
  words_.push_back({&rung_, heard_});
  for (Reason* reason : reasons) {
    if (reason->word == nullptr) continue;
    words_.push_back({reason->word, reason->seen});
    wordReasons_.push_back(reason);
  }
  if (!canWatchSeveral_ && !wordReasons_.empty()) return sleepOnOneWord(*wordReasons_.front());
  if (!fallAsleep(Asleep::OnWords)) return;
  if (words_.size() == 1) {
    waitOnFutex(rung_, heard_, std::chrono::ceil<Milliseconds>(timeUntil(firstDeadline(reasons))));
  } else {
    const int woken = waitOnFutexes(words_, firstDeadline(reasons));
    if (woken > 0) wordReasons_[static_cast<std::size_t>(woken) - 1]->occurred = true;
    if (woken == kCannotWatchSeveral) canWatchSeveral_ = false;
  }
  wakeUp();
}

// Being woken cannot be told from the end of patience or from a ring, so the reason counts as having occurred.
void Sleeper::sleepOnOneWord(Reason& reason) {
  oneWord_.store(reason.word, std::memory_order_relaxed);
  if (!fallAsleep(Asleep::OnOneWord)) return;
  const auto patience = std::min<Clock::duration>(timeUntil(reason.until), kPatienceOnOneWord);
  waitOnFutex(*reason.word, reason.seen, std::chrono::ceil<Milliseconds>(patience));
  wakeUp();
  reason.occurred = true;
}

void Sleeper::sleepInPoll(const std::vector<Reason*>& reasons) {
  const auto left = timeUntil(firstDeadline(reasons));
  if (fallAsleep(Asleep::InPoll)) pollAll(reasons, anyWatches(reasons) ? std::min(left, nap_) : left);
  wakeUp();
}

// Where poll itself fails, everybody is told to look: it is they who know when to give up.
void Sleeper::pollAll(const std::vector<Reason*>& reasons, Clock::duration patience) {
  interests_.clear();
  interests_.push_back({bell_.get(), POLLIN, 0});
  for (const Reason* reason : reasons) {
    interests_.insert(interests_.end(), reason->interests, reason->interests + reason->count);
  }
  const int ready = pollFor(interests_, patience);
  const bool broken = ready < 0 && errno != EINTR;
  auto polled = interests_.begin() + 1;
  for (Reason* reason : reasons) {
    for (std::size_t i = 0; i < reason->count; ++i, ++polled) {
      reason->interests[i].revents = ready > 0 ? polled->revents : static_cast<short>(0);
      reason->occurred |= broken || reason->interests[i].revents != 0;
    }
  }
  std::uint8_t rings[64];
  if (ready > 0 && interests_.front().revents != 0) {
    while (::read(bell_.get(), rings, sizeof rings) > 0) {
    }
  }
}

// The pair of fallAsleep() and ring() must not lose a ring: the one says that it sleeps and then looks at the count,
// the other counts and then looks for a sleeper. With all four sequentially consistent, at least one sees the other.
bool Sleeper::fallAsleep(Asleep how) {
  asleep_.store(how, std::memory_order_seq_cst);
  if (rung_.load(std::memory_order_seq_cst) == heard_) return true;
  wakeUp();
  return false;
}

void Sleeper::wakeUp() { asleep_.store(Asleep::No, std::memory_order_relaxed); }

void Sleeper::ring() {
  rung_.fetch_add(1, std::memory_order_seq_cst);
  switch (asleep_.load(std::memory_order_seq_cst)) {
    case Asleep::No: return;
    case Asleep::OnWords: return wakeAll(rung_);
    // It may be memory that is gone by now, if the sleeper woke meanwhile: waking reads nothing there.
    case Asleep::OnOneWord: return wakeAll(*oneWord_.load(std::memory_order_relaxed));
    // A pipe that is full has rung.
    case Asleep::InPoll: {
      [[maybe_unused]] const ssize_t written = ::write(button_.get(), "", 1);
      return;
    }
  }
}

}  // namespace ringrun
