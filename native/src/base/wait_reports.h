#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/operation.h"

namespace ringrun {

// Lines on stderr about operations that wait for a long time: the first after `first`, then after 6, 24 and 120
// times that (5 s, 30 s, 2 min, 10 min), then at every multiple of 120 times.
//
// Written by the waiting thread, because the event loop may be blocked in a synchronous operation. Used by one
// thread at a time.
class WaitReports {
 public:
  // Writes no reports.
  WaitReports() = default;

  // `names`: the name of each rank in the lines, "rank 1 (host node1, pid 4711)". `firstMs`: 0 for no lines.
  WaitReports(std::vector<std::string> names, double firstMs) : names_(std::move(names)), firstMs_(firstMs) {}

  // Returns true if a line is due for the operation with this deadline, which has made no progress for `waited`, and
  // counts it as printed.
  bool isDue(const Deadline& deadline, Clock::duration waited);

  struct Missing {
    int rank;
    std::string description;  // "which is outside any collective, its last was allReduce #12"
  };

  // Prints the line: `rank` waits in the call's operation for the missing ranks, the first few of which
  // are named. `more` names other waits, such as "; 3 more messages are waiting".
  void write(int rank, const Call& call, const std::vector<Missing>& missing, const std::string& more = "") const;

 private:
  std::string nameOf(int rank) const;

  std::vector<std::string> names_;
  double firstMs_ = 0;
  Clock::time_point began_{};  // start of the operation of the last line
  int written_ = 0;            // number of lines about it
};

}  // namespace ringrun
