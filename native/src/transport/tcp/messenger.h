#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/operation.h"
#include "base/processor.h"
#include "transport/connect/acceptor.h"
#include "transport/connect/dial.h"
#include "transport/connect/directory.h"
#include "transport/connect/link.h"
#include "transport/control/mesh.h"
#include "transport/tcp/stripes.h"
#include "transport/wire.h"

namespace ringrun {

// A message of `bytes` to or from a rank; zero bytes are a message too. `part` counts the messages of one
// operation, so that both sides can check it. `headerFirst`: nothing is written to `into` before the header is
// checked, which costs one more system call. `isLent`: the bytes do not change until Messenger::copyLent(), except by receiving
// a message, so that no copy of them is needed for a connection that breaks.
struct Outgoing {
  int to;
  std::uint32_t part;
  const void* data;
  std::size_t bytes;
  bool isLent = false;
};
struct Incoming {
  int from;
  std::uint32_t part;
  void* into;
  std::size_t bytes;
  bool headerFirst = false;
};

// Work of the caller that may run during a transfer, a few microseconds at a time. Returns false if nothing is left.
using WorkMeanwhile = std::function<bool()>;

// Sends messages between ranks over TCP, or over Unix sockets inside a host. Each pair of ranks that exchanges
// data has one connection, opened when first needed (the higher rank connects) and used in both directions. A long link
// has several more for the elements of long messages (transport/tcp/stripes.h).
//
// Used by one thread at a time. Every message carries the operation's fingerprint; a message of another
// operation is a Mismatch. `into` may have been overwritten by then, so it must be scratch memory until the
// caller knows that all ranks agree, or use `headerFirst`.
//
// A wait ends by progress, by the end of an awaited peer's data, by an ABORT, or at the deadline. A peer that
// has ended does not end the wait, because data that it sent before still arrives. The first rank that misses
// data detects the failure and aborts the others. Only a silent connection (a vanished host) fails some seconds
// later.
//
// A rank that waits longer than kLivenessInterval sends STATUS to all ranks. So any two ranks that disagree
// detect it, and a timeout names the missing ranks.
class Messenger {
 public:
  // All arguments must outlive this object.
  Messenger(const Directory& directory, Acceptor& acceptor, ControlMesh& mesh);

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Sends and receives all messages concurrently, at most one from each rank. Returns when the last byte has been received
  // and the kernel has accepted all bytes to send, except the last `mostAhead` messages to each rank: later transfers
  // continue to send those, and their bytes must not change until one without `mostAhead` has returned. Messages to a rank
  // keep their order. Does the caller's work while it waits for the network, not all of it if the network is faster.
  // Throws Failure.
  void transfer(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives,
                std::size_t mostAhead = 0, const WorkMeanwhile& meanwhile = {});

  // The same, with messages that follow others: `follow` is called for every message when it is complete. No two messages
  // from one rank may be under way at once.
  struct Messages {
    std::vector<Outgoing> sends;
    std::vector<Incoming> receives;
  };
  struct Follow {
    std::function<Messages(const Outgoing&)> sent;
    std::function<Messages(const Incoming&)> received;
  };
  void transfer(const Call& call, const Messages& first, const Follow& follow);

  // Ends what Outgoing::isLent promised.
  void copyLent();

  // True if a message takes so long to `peer` that the next ones should be sent before others arrive.
  bool isFar(int peer);

  // See Stripes::bytesThatFill.
  std::optional<std::size_t> bytesThatFill(int peer) const { return channelTo(peer).stripes.bytesThatFill(); }

  // Limits the bytes that wait in this rank's kernel to be sent on an open connection, so that a message is not accepted
  // seconds before a slow link sends it. 0: the system's limit. Lanes have a limit of their own.
  void limitUnsent(int peer, int bytes);

  // Closes all data connections, which wakes peers in the middle of a message.
  void closeAll();

 private:
  struct Sending {
    Outgoing message;
    DataHeader header;
    bool isBegun = false;   // decided whether it is striped
    Clock::time_point begunAt{};  // if it may be striped
    std::size_t done = 0;   // header, and data that is not striped
    StripedSend striped{};  // data otherwise
    // True if the connection for messages may continue with the next message.
    bool isOnItsWay() const { return done == sizeof header + (header.isStriped != 0 ? 0 : message.bytes); }
    bool complete() const { return isOnItsWay() && striped.complete(); }
  };
  struct Receiving {
    Incoming message;
    DataHeader header;
    std::size_t done = 0;
    StripedReceive striped{};
    bool isStriped() const { return done >= sizeof header && header.isStriped != 0; }
    std::size_t received() const { return done + striped.received; }
    bool complete() const { return received() == sizeof header + message.bytes; }
  };

  // The data connections to a rank.
  struct Channel {
    Link connection;
    Stripes stripes;
    std::optional<std::uint32_t> lanes;      // number of lanes that `stripes` will have, once decided
    Clock::time_point lanesAwaitedUntil{};   // long messages wait for the first lane
    std::deque<Sending> sending;             // in their order
    std::uint64_t stripedSends = 0;          // number of striped messages so far
    std::uint64_t stripedReceives = 0;
    std::optional<std::chrono::microseconds> roundTrip;  // once known; 0 inside a host
  };
  using Lane = std::pair<int, std::uint32_t>;  // rank, lane

  Channel& channelTo(int peer) { return channels_[static_cast<std::size_t>(peer)]; }
  const Channel& channelTo(int peer) const { return channels_[static_cast<std::size_t>(peer)]; }
  void run(const Call& call, std::size_t mostAhead, const Follow* follow, const WorkMeanwhile& meanwhile);
  void begin(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives);
  void add(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives);
  void replaceComplete(const Call& call, const Follow& follow);
  bool advanceAll(const Call& call);
  bool isComplete(std::size_t mostAhead) const;
  bool hasConnection(int peer, const Call& call);
  Link advanceConnecting(Lane lane, const Call& call);
  Link advanceDialling(Lane lane, const Call& call);
  std::chrono::microseconds roundTripTo(int peer);
  void beginLanes(int peer);
  std::uint32_t lanesToOpen(int peer) const;
  void advanceLanes(int peer, const Call& call);
  static bool mayBeStriped(const Channel& channel, const Sending& sending);
  static void onSentWithoutLanes(Channel& channel, const Sending& sending);
  static bool awaitsLane(const Channel& channel);
  static bool waitsForConnection(const Channel& channel);
  static bool waitsForLanes(const Channel& channel);
  bool advanceSends(int peer, const Call& call);
  bool advance(Sending& sending);
  bool advance(Receiving& receiving, const Call& call);
  bool advanceStriped(Receiving& receiving, const Call& call);
  void throwIfLaneEnded(int peer);
  void checkHeader(const Receiving& receiving, const Call& call) const;
  bool runsApartFromPeers();
  void waitForReadiness(const Call& call);
  void checkWhileWaiting(const Call& call, Clock::time_point lastProgress);
  void throwIfEnded(int peer, Clock::duration idle);
  std::string problemOfDialling() const;
  std::vector<InvolvedRank> missing(const Call& call) const;
  [[noreturn]] void throwEndFailureOf(int peer, const std::string& noticed);
  [[noreturn]] void throwAltered(int peer) const;

  int rank_;
  int size_;
  bool isOversubscribed_;  // more ranks than processors
  const Directory& directory_;
  Acceptor& acceptor_;
  ControlMesh& mesh_;
  std::vector<Channel> channels_;
  std::map<Lane, Dialling> dialled_;  // connections that are not ready
  // The processor on which each rank of this machine sent its last message; kUnknownProcessor for all others.
  std::vector<std::uint32_t> processors_;
  ProcessorMover mover_;
  // State of the current transfer; members to reuse their memory.
  std::vector<int> sendingTo_;  // ranks with messages that are not sent
  std::vector<int> lentTo_;     // ranks whose connections may refer to lent bytes
  std::vector<Outgoing> sent_;  // complete since the last call of replaceComplete()
  std::vector<Receiving> receiving_;
  std::vector<StripedSend*> stripedSends_;
  bool usesLanes_ = false;
  std::vector<pollfd> interests_;
};

}  // namespace ringrun
