#pragma once

#include <poll.h>

#include <map>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "transport/connect/listener.h"

namespace ringrun {

// Accepts connections and files them by connecting rank and purpose. Closes connections without this group's
// token (a port scanner, a rank of another job) without an answer, and without delaying others.
class Acceptor {
 public:
  // `listeners`: one for each socket type that peers use.
  Acceptor(std::vector<Listener> listeners, Token token, int size)
      : listeners_(std::move(listeners)), token_(token), size_(size) {}

  // Accepts all waiting connections. Never blocks. Throws Failure if the listening socket itself is broken.
  void advance();

  // Removes and returns the connection of `rank` for `purpose`; empty if it has not arrived.
  UniqueFd take(Purpose purpose, int rank);

  // Removes any connection for `purpose` and sets `rank` to its peer. Returns false if there is none.
  bool takeAny(Purpose purpose, int& rank, UniqueFd& fd);

  // Adds the descriptors that become ready when advance() has something to do.
  void addInterests(std::vector<pollfd>& interests) const;

 private:
  void acceptAllFrom(const Listener& listener);
  void identifyAll();

  std::vector<Listener> listeners_;
  Token token_;
  int size_;
  std::vector<UniqueFd> unidentified_;  // with an incomplete Hello
  std::map<std::pair<Purpose, int>, UniqueFd> identified_;
};

}  // namespace ringrun
