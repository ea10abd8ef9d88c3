#include "base/wait_reports.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/write_line.h"

namespace ringrun {
namespace {

constexpr std::array<double, 4> kTimesFirst{1, 6, 24, 120};

// Maximum number of ranks named in a line; it counts the others.
constexpr std::size_t kMaxNamed = 3;

double dueMs(int written, double firstMs) {
  const auto last = static_cast<int>(kTimesFirst.size()) - 1;
  const int repeats = std::max(written - last, 0);
  return firstMs * kTimesFirst[static_cast<std::size_t>(std::min(written, last))] * (repeats + 1);
}

// ":05" after a larger unit.
std::string twoDigits(long long part) { return (part < 10 ? ":0" : ":") + std::to_string(part); }

// "300 ms", "5 s", "30 min", "2:05 min", "1:02:05 h", as formatDuration in packages/core/src/format.ts.
std::string describeDuration(double ms) {
  if (!std::isfinite(ms)) return "unlimited time";
  if (ms > 0 && ms < 1000) return std::to_string(std::llround(ms)) + " ms";
  const long long whole = std::llround(ms / 1000);
  const long long hours = whole / 3600, minutes = whole / 60 % 60, seconds = whole % 60;
  if (hours > 0) {
    const bool isWhole = minutes == 0 && seconds == 0;
    return std::to_string(hours) + (isWhole ? "" : twoDigits(minutes) + twoDigits(seconds)) + " h";
  }
  if (minutes > 0) return std::to_string(minutes) + (seconds == 0 ? "" : twoDigits(seconds)) + " min";
  return std::to_string(seconds) + " s";
}

}  // namespace

bool WaitReports::isDue(const Deadline& deadline, Clock::duration waited) {
  if (firstMs_ <= 0) return false;
  if (deadline.since() != began_) {
    began_ = deadline.since();
    written_ = 0;
  }
  // The deadline starts at its first look: what stood still before is in `waited`, but in no part of the deadline.
  const auto running = std::min(waited - deadline.stoodStill(), deadline.waited());
  const double waitedMs = std::chrono::duration<double, std::milli>(running).count();
  if (waitedMs < dueMs(written_, firstMs_)) return false;
  ++written_;
  return true;
}

void WaitReports::write(int rank, const Call& call, const std::vector<Missing>& missing, const std::string& more) const {
  std::string line = "ringrun: rank " + std::to_string(rank) + ": waiting in " + describe(call.fingerprint) + " for ";
  const std::size_t named = std::min(missing.size(), kMaxNamed);
  for (std::size_t i = 0; i < named; ++i) {
    if (i > 0) line += "; ";
    line += nameOf(missing[i].rank) + ", " + missing[i].description;
  }
  if (missing.size() > named) line += "; and " + std::to_string(missing.size() - named) + " more";
  const double waitedMs = std::chrono::duration<double, std::milli>(call.deadline.waited()).count();
  line += more + " (" + describeDuration(waitedMs) + " of " + describeDuration(call.deadline.timeoutMs()) + ")\n";
  writeLine(line);
}

std::string WaitReports::nameOf(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  return index < names_.size() && !names_[index].empty() ? names_[index] : "rank " + std::to_string(rank);
}

}  // namespace ringrun
