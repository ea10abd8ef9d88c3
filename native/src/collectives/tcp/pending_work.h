#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "collectives/split.h"

namespace ringrun {

// Work on ranges of elements that runs in pieces, in order, while a transfer waits for the network.
class PendingWork {
 public:
  using Run = std::function<void(const Range&)>;

  explicit PendingWork(std::size_t perPiece) : perPiece_(perPiece) {}

  void add(const Range& range, Run run) {
    if (range.length() > 0) works_.push_back({range, std::move(run)});
  }

  // Returns false if nothing is left.
  bool runPiece() {
    if (next_ == works_.size()) return false;
    Work& work = works_[next_];
    const Range piece = segmentOf(work.range, perPiece_, 0);
    work.run(piece);
    work.range.begin = piece.end;
    if (work.range.length() == 0) ++next_;
    return true;
  }

  void runAll() {
    while (runPiece()) {
    }
    works_.clear();
    next_ = 0;
  }

 private:
  struct Work {
    Range range;
    Run run;
  };

  std::size_t perPiece_;
  std::vector<Work> works_;
  std::size_t next_ = 0;
};

}  // namespace ringrun
