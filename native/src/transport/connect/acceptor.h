#pragma once

#include <poll.h>

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "transport/connect/listener.h"
#include "transport/wire.h"

namespace ringrun {

// Accepts connections and files them by connecting rank and purpose.
//
// Until its Hello is complete, a connection is a stranger. Strangers that do not present this group's token (a port
// scanner, a rank of another job) are closed without an answer, and without delaying others: after kStrangerTimeout,
// and earlier if there are too many of them or if this process has no descriptors left.
class Acceptor {
 public:
  // `listeners`: one for each socket type that peers use.
  Acceptor(std::vector<Listener> listeners, Token token, int size)
      : listeners_(std::move(listeners)), token_(token), size_(size) {}

  // Accepts all waiting connections. Never blocks. Must be called at least every kLivenessInterval while a rank is
  // awaited. Throws Failure if the listening socket itself is broken.
  void advance();

  // Removes and returns the connection of `rank` for `purpose`; empty if it has not arrived.
  UniqueFd take(Purpose purpose, int rank);

  // Removes any connection for `purpose` and sets `rank` to its peer. Returns false if there is none.
  bool takeAny(Purpose purpose, int& rank, UniqueFd& fd);

  // Adds the descriptors that become ready when advance() has something to do.
  void addInterests(std::vector<pollfd>& interests) const;

 private:
  struct Stranger {
    UniqueFd fd;
    Clock::time_point since;  // when it was accepted
    Hello hello;
    std::size_t read = 0;  // bytes of `hello` that have arrived
  };
  enum class Progress { Waiting, Identified, Refused };

  void acceptAllFrom(const Listener& listener);
  bool isCrowded() const;
  bool makeRoom();
  void identifyAll();
  Progress identify(Stranger& stranger) const;
  bool belongs(const Hello& hello) const;

  std::vector<Listener> listeners_;
  Token token_;
  int size_;
  std::deque<Stranger> strangers_;  // the oldest first
  bool isFull_ = false;             // connections wait to be accepted until a stranger leaves
  std::map<std::pair<Purpose, int>, UniqueFd> identified_;
};

}  // namespace ringrun
