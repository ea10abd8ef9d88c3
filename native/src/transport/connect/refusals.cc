#include "transport/connect/refusals.h"

#include "base/write_line.h"

namespace ringrun {
namespace {

// Delay from the first refusal to its line, which then includes those that follow immediately.
constexpr Milliseconds kCollectFor{1000};

constexpr Milliseconds kBetweenLines{60'000};

constexpr std::size_t kMaxSources = 4;

constexpr const char* kReasonTexts[] = {
    "without a valid hello", "without proof of the job's secret", "without encryption",
    "from another user",     "without a proof within 5 s",        "closed to make room",
};

}  // namespace

void Refusals::add(Reason reason, const std::string& from) {
  if (total_++ == 0) since_ = Clock::now();
  ++counts_[static_cast<std::size_t>(reason)];
  const bool isNamed = sources_.size() < kMaxSources || sources_.count(from) != 0;
  ++sources_[isNamed ? from : "other addresses"];
}

bool Refusals::isDue() const {
  if (total_ == 0) return false;
  const auto now = Clock::now();
  return now >= next_ && now - since_ >= kCollectFor;
}

void Refusals::report(int rank) {
  if (total_ == 0) return;
  std::string line = "ringrun: rank " + std::to_string(rank) + " refused " + std::to_string(total_) +
                     (total_ == 1 ? " connection (" : " connections (");
  const char* separator = "";
  for (std::size_t i = 0; i < kReasons; ++i) {
    if (counts_[i] == 0) continue;
    line += separator + std::to_string(counts_[i]) + " " + kReasonTexts[i];
    separator = ", ";
  }
  separator = ") from ";
  for (const auto& [source, count] : sources_) {
    line += separator + source;
    if (sources_.size() > 1) line += " (" + std::to_string(count) + ")";
    separator = ", ";
  }
  writeLine(line + "\n");
  *this = {};
  next_ = Clock::now() + kBetweenLines;
}

}  // namespace ringrun
