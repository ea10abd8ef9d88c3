#pragma once

#include <poll.h>
#include <sys/resource.h>

#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "transport/connect/address.h"
#include "transport/connect/authentication.h"
#include "transport/connect/detours.h"
#include "transport/connect/link.h"
#include "transport/connect/listener.h"
#include "transport/connect/refusals.h"
#include "transport/wire.h"

namespace ringrun {

// Accepts connections and files them by connecting rank and purpose.
//
// A connection is a stranger until it proves that it belongs to the group. Strangers that never do (a port scanner, a
// rank of another job) are closed without delaying others: after kStrangerTimeout, or earlier if there are too many of
// them or if this process has no descriptors left.
class Acceptor {
 public:
  // `listeners`: one for each socket type that peers use.
  // `isForRelays`: accepts only connections for Purpose::Relay, instead of all others.
  Acceptor(std::vector<Listener> listeners, Token token, const Authentication& authentication, int rank, int size,
           Milliseconds silentPeerTimeout = kDefaultSilentPeerTimeout, bool isForRelays = false)
      : listeners_(std::move(listeners)),
        token_(token),
        authentication_(authentication),
        rank_(rank),
        size_(size),
        silentPeerTimeout_(silentPeerTimeout),
        isForRelays_(isForRelays) {}
  Acceptor(Acceptor&&) = default;
  // Reports the refusals that have not been reported.
  ~Acceptor() { refusals_.report(rank_); }

  // Accepts all waiting connections. Never blocks. Must be called at least every kLivenessInterval while a rank is
  // awaited. Throws Failure if the listening socket itself is broken.
  void advance() { advance(std::numeric_limits<std::size_t>::max()); }

  // For waits in which no rank is awaited: like advance(), but accepts only a few connections, and does nothing until
  // isDue().
  void advanceIfDue();

  // False for kStrangerPause after strangers connected, so that they cannot delay an operation.
  bool isDue() const { return next_ == Clock::time_point{} || Clock::now() >= next_; }

  // Removes and returns the connection of `rank` for `purpose`; empty if it has not arrived.
  Link take(Purpose purpose, int rank, std::uint32_t lane = 0);

  // Removes any connection for `purpose` and sets `rank` to its peer. Returns false if none exists.
  bool takeAny(Purpose purpose, int& rank, Link& link);

  // Removes and returns a connection for Purpose::Relay, which stays as it arrived: neither encrypted nor counted.
  struct Request {
    UniqueFd fd;
    std::size_t target;  // rank to which it is to be forwarded
  };
  std::optional<Request> takeRequest();

  // The streams that connecting ranks resume. Before the first advance().
  void setDetours(std::shared_ptr<Detours> detours) { detours_ = std::move(detours); }

  // True if advance() must be called although no descriptor is ready.
  bool hasStrangers() const { return isFull_ || !strangers_.empty() || refusals_.isDue(); }

  // Adds the descriptors that become ready when advance() has something to do.
  void addInterests(std::vector<pollfd>& interests) const;

 private:
  struct Stranger {
    UniqueFd fd;
    SocketType socketType = SocketType::Tcp;
    SocketAddress from;
    Clock::time_point since;  // when it was accepted
    Hello hello{};
    bool isChallenged = false;
    bool isProven = false;
    Nonce nonce{};  // of the challenge
    Proof proof{};
    Continuation continuation{};  // if `hello` announces it
    std::size_t read = 0;  // bytes that have arrived of `hello`, then of `proof`, then of `continuation`
  };
  using Connection = std::tuple<Purpose, int, std::uint32_t>;  // purpose, connecting rank, lane
  enum class Progress { Waiting, Identified, Refused };

  void advance(std::size_t most);
  void acceptFrom(const Listener& listener, std::size_t& most);
  bool isCrowded() const;
  bool makeRoom();
  void identifyAll();
  bool hasEnded(Stranger& stranger);
  void file(Stranger& stranger);
  void follow(const Continuation& continuation, int peer);
  void resume(Stranger& stranger);
  Protection protectionOf(const Stranger& stranger) const;
  Progress identify(Stranger& stranger);
  Progress read(Stranger& stranger, void* into, std::size_t bytes);
  Progress refuse(Refusals::Reason reason, const Stranger& stranger);
  bool isForThisRank(const Hello& hello) const;
  void challenge(Stranger& stranger) const;
  bool hasOldStranger() const;
  Link linkOf(Stranger& stranger) const;

  std::vector<Listener> listeners_;
  Token token_;
  Authentication authentication_;
  int rank_;
  int size_;
  Milliseconds silentPeerTimeout_;
  bool isForRelays_;
  Refusals refusals_;
  std::deque<Stranger> strangers_;  // the oldest first
  bool isFull_ = false;             // connections wait to be accepted until a stranger leaves
  bool hasMetStranger_ = false;     // a stranger's connection has ended since the last advance() began
  rlim_t descriptors_ = RLIM_INFINITY;  // maximum number of descriptors of this process
  Clock::time_point next_{};        // time from which isDue() returns true
  std::map<Connection, Link> identified_;
  std::deque<Request> requests_;
  std::shared_ptr<Detours> detours_;
};

}  // namespace ringrun
