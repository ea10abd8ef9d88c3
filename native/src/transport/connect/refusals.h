#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>

#include "base/deadline.h"

namespace ringrun {

// Counts the connections that a rank refused, and reports them on stderr, at most one line per minute.
class Refusals {
 public:
  enum class Reason { Malformed, Unproven, Unencrypted, ForeignUser, Late, Crowded };

  // `from`: address, or user of this machine.
  void add(Reason reason, const std::string& from);

  bool isDue() const;

  // Prints the line about unreported refusals, if any.
  void report(int rank);

 private:
  static constexpr std::size_t kReasons = 6;

  std::array<std::size_t, kReasons> counts_{};
  std::size_t total_ = 0;
  std::map<std::string, std::size_t> sources_;
  Clock::time_point since_{};  // of the first unreported refusal
  Clock::time_point next_{};   // of the next line
};

}  // namespace ringrun
