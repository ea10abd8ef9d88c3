#pragma once

#include <poll.h>

#include <map>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "transport/connect/listener.h"

namespace ringrun {

// Takes in connections and files them by who dialled and what for. Strangers (a port scanner, a rank of another job)
// are turned away by their missing token, without a word and without holding up anybody.
class Acceptor {
 public:
  // `listeners`: one for each carrier that somebody may come by.
  Acceptor(std::vector<Listener> listeners, Token token, int size)
      : listeners_(std::move(listeners)), token_(token), size_(size) {}

  // Takes in whatever has come. Never blocks; throws Failure when the listening socket itself is broken.
  void advance();

  // The connection that `rank` dialled for `purpose`, given away; empty when it has not come yet.
  UniqueFd take(Purpose purpose, int rank);

  // Any connection for `purpose` that has come, with who dialled it; false when there is none.
  bool takeAny(Purpose purpose, int& rank, UniqueFd& fd);

  // What to poll for until advance() has something to do.
  void addInterests(std::vector<pollfd>& interests) const;

 private:
  void acceptAllFrom(const Listener& listener);
  void introduceAll();

  std::vector<Listener> listeners_;
  Token token_;
  int size_;
  std::vector<UniqueFd> strangers_;  // whose Hello is not complete yet
  std::map<std::pair<Purpose, int>, UniqueFd> introduced_;
};

}  // namespace ringrun
