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

// "300 ms", "5 s", "30 min", as in packages/rendezvous/src/store/wait-reporter.ts.
std::string describeDuration(double ms) {
  if (!std::isfinite(ms)) return "unlimited time";
  if (ms < 1000) return std::to_string(std::llround(ms)) + " ms";
  if (ms < 120'000) return std::to_string(std::llround(ms / 1000)) + " s";
  return std::to_string(std::llround(ms / 60'000)) + " min";
}

}  // namespace

bool WaitReports::isDue(Clock::time_point began, Clock::duration waited) {
  if (firstMs_ <= 0) return false;
  if (began != began_) {
    began_ = began;
    written_ = 0;
  }
  const double waitedMs = std::chrono::duration<double, std::milli>(waited).count();
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
  const double waitedMs = std::chrono::duration<double, std::milli>(Clock::now() - call.deadline.since()).count();
  line += more + " (" + describeDuration(waitedMs) + " of " + describeDuration(call.deadline.timeoutMs()) + ")\n";
  writeLine(line);
}

std::string WaitReports::nameOf(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  return index < names_.size() && !names_[index].empty() ? names_[index] : "rank " + std::to_string(rank);
}

}  // namespace ringrun
