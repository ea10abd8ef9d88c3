#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/operation.h"
#include "base/unique_fd.h"
#include "transport/connect/dial_handshake.h"
#include "transport/connect/dial_route.h"
#include "transport/connect/directory.h"
#include "transport/connect/link.h"
#include "transport/connect/relay_request.h"
#include "transport/connect/byte_stream.h"
#include "transport/wire.h"

namespace ringrun {

// A connection to rank `peer` being made: connects, then both sides prove to each other that they belong to
// the group. Never blocks, because two ranks may dial each other at the same time, and each answers while it waits.
//
// If the peer cannot be reached directly for some seconds, the connection passes through a relay that reaches it (DialRoute).
class Dialling {
 public:
  // `directory` must outlive this object. `resumed`: the stream that continues on the new connection.
  Dialling(const Directory& directory, int peer, Purpose purpose, std::uint32_t lane = 0,
           std::shared_ptr<ByteStream> resumed = nullptr);

  // Returns the connection when it is ready, else an empty one. Network errors are retried without limit: the
  // caller has a deadline, and checks the peer's control connection, if any. A listener that closes the
  // connection before it answers is retried too, because it may have had too many strangers. Reports long waits for an answer of
  // the peer's host. Throws Failure: PeerDied for a connection that is refused for longer than graceOfRefusal();
  // Untrusted if the listener does not prove for a few seconds that it has the key.
  Link advance(const Call& call);

  // The same for a resumed stream, without a report. Returns true when the stream has been resumed.
  bool advanceResuming();

  // The reason why the last attempts failed, with those through relays; empty if none failed.
  std::string lastProblem() const;

  // True if the peer's process has accepted a connection, although it may not have answered yet.
  bool isAccepted() const { return state_ == State::AwaitingChallenge || state_ == State::AwaitingContinuation; }

  void addInterest(std::vector<pollfd>& interests) const;

  // Time after which advance() must be called even if its descriptor is not ready; at most `most`.
  Milliseconds pauseWithin(Milliseconds most) const;

 private:
  enum class State { Idle, Connecting, AskingRelay, AwaitingChallenge, AwaitingContinuation };

  void begin(const Call* call);
  void beginDirectly(const Call* call);
  Link advance(const Call* call);
  void finishConnecting(const Call* call);
  void askRelay();
  void readChallenge();
  void sendContinuation();
  void readContinuation();
  Link finish();
  Milliseconds attemptTimeout() const;
  void connected();
  void again(Milliseconds pause);
  void againAfter(int error);
  void againAfter(std::string problem);
  void againAfterRelay(std::string problem);

  // The reason why the last attempt on this way failed; empty if none did.
  std::string problemOf(const std::optional<int>& way) const;

  const Directory& directory_;
  int peer_;
  SocketType socketType_;
  std::string where_;
  State state_ = State::Idle;
  Clock::time_point next_{};  // of the next attempt while Idle
  Clock::time_point begun_{};  // the current attempt
  Milliseconds pause_;         // before the next attempt
  std::string lastProblem_;  // of a direct attempt
  std::map<int, std::string> relayProblems_;
  std::optional<Clock::time_point> refusedSince_;
  std::optional<Clock::time_point> unprovenSince_;
  DialRoute route_;
  std::optional<int> relay_;  // of the current attempt
  std::optional<RelayRequest> request_;
  UniqueFd fd_;
  Hello hello_;
  std::optional<DialHandshake> handshake_;
  std::shared_ptr<ByteStream> resumed_;
  bool isDone_ = false;
  Continuation continuation_;  // of the listener
  std::size_t read_ = 0;       // bytes of `continuation_` that have arrived
};

// Time for which connections to the peer may be refused before its process counts as ended: a rank listens before it
// publishes its RankInfo, but a firewall or a proxy between hosts may reject connections until they know the rank.
Milliseconds graceOfRefusal(const Directory& directory, int peer);

// True if nothing listens at the address of `peer`. Takes a few milliseconds at most.
bool hasStoppedListening(const Directory& directory, int peer);

// Throws if the call's deadline has passed (naming `missing`) or if this process destroys the group.
void throwIfTimedOutOrCancelled(const Call& call, int missing, const std::string& what);

}  // namespace ringrun
