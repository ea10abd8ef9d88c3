#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/operation.h"
#include "base/processor.h"
#include "transport/connect/acceptor.h"
#include "transport/connect/dial.h"
#include "transport/connect/directory.h"
#include "transport/connect/link.h"
#include "transport/control/mesh.h"
#include "transport/wire.h"

namespace ringrun {

// A message of `bytes` to or from a rank; zero bytes are a message too. `part` counts the messages of one
// operation, so that both sides can check it. `headerFirst`: nothing is written to `into` before the header is
// checked, which costs one more system call.
struct Outgoing {
  int to;
  std::uint32_t part;
  const void* data;
  std::size_t bytes;
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
// data has one connection, opened when first needed (the higher rank connects) and used in both directions.
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

  // Sends and receives all messages concurrently, at most one to and one from each rank. Returns when the last
  // byte has been received and the kernel has accepted the last byte to send. Messages of successive transfers
  // keep their order. Does the caller's work while it waits for the network, not all of it if the network is faster.
  // Throws Failure.
  void transfer(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives,
                const WorkMeanwhile& meanwhile = {});

  // The same, with messages that follow others: `follow` is called for every message when it is complete. No two messages to
  // one rank, or from one, may be under way at once.
  struct Messages {
    std::vector<Outgoing> sends;
    std::vector<Incoming> receives;
  };
  struct Follow {
    std::function<Messages(const Outgoing&)> sent;
    std::function<Messages(const Incoming&)> received;
  };
  void transfer(const Call& call, const Messages& first, const Follow& follow);

  // Limits the bytes that wait in this rank's kernel to be sent on an open connection, so that a message is not accepted
  // seconds before a slow link sends it. 0: the system's limit.
  void limitUnsent(int peer, int bytes);

  // Closes all data connections, which wakes peers in the middle of a message.
  void closeAll();

 private:
  struct Sending {
    Outgoing message;
    DataHeader header;
    std::size_t done = 0;  // header and data
    bool complete() const { return done == sizeof header + message.bytes; }
  };
  struct Receiving {
    Incoming message;
    DataHeader header;
    std::size_t done = 0;
    bool complete() const { return done == sizeof header + message.bytes; }
  };

  void run(const Call& call, const Follow* follow, const WorkMeanwhile& meanwhile);
  void begin(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives);
  void add(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives);
  void replaceComplete(const Call& call, const Follow& follow);
  bool advanceAll(const Call& call);
  bool isComplete() const;
  bool hasConnection(int peer, const Call& call);
  Link advanceDialling(int peer, const Call& call);
  bool advance(Sending& sending);
  bool advance(Receiving& receiving, const Call& call);
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
  std::vector<Link> connections_;
  std::map<int, Dialling> dialled_;  // connections that are not ready
  // The processor on which each rank of this machine sent its last message; kUnknownProcessor for all others.
  std::vector<std::uint32_t> processors_;
  ProcessorMover mover_;
  // State of the current transfer; members to reuse their memory.
  std::vector<Sending> sending_;
  std::vector<Receiving> receiving_;
  std::vector<pollfd> interests_;
};

}  // namespace ringrun
