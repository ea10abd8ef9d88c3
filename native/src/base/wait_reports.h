#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/operation.h"

namespace ringrun {

// The lines on stderr by which a rank says what an operation of a group waits for: the first after `first`, then after
// 6, 24 and 120 times that (5 s, 30 s, 2 min, 10 min), and after every further 120 times.
//
// Written by the thread that waits, not by JavaScript, whose event loop may be blocked in a synchronous operation.
// Used by one thread at a time.
class WaitReports {
 public:
  // Reports nothing.
  WaitReports() = default;

  // `names`: what each rank is called in the lines, "rank 1 (host node1, pid 4711)". `firstMs`: 0 for no lines.
  WaitReports(std::vector<std::string> names, double firstMs) : names_(std::move(names)), firstMs_(firstMs) {}

  // Whether a line about an operation that began at `began` and has waited for `waited` is due. Counts it as written.
  bool isDue(Clock::time_point began, Clock::duration waited);

  struct Missing {
    int rank;
    std::string whereabouts;  // "outside any collective, its last was allReduce #12"
  };

  // Writes the line: `rank` waits in the operation of the call for those ranks, of which the first few are named.
  // `more`: what else waits, such as ", as do 3 more messages".
  void write(int rank, const Call& call, const std::vector<Missing>& missing, const std::string& more = "") const;

 private:
  std::string nameOf(int rank) const;

  std::vector<std::string> names_;
  double firstMs_ = 0;
  Clock::time_point began_{};  // of the operation that the last line was about
  int written_ = 0;            // lines about it
};

}  // namespace ringrun
