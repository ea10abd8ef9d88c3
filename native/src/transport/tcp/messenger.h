#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/operation.h"
#include "base/processor.h"
#include "base/unique_fd.h"
#include "transport/connect/acceptor.h"
#include "transport/connect/directory.h"
#include "transport/control/mesh.h"
#include "transport/wire.h"

namespace ringrun {

// A message of `bytes` to or from a rank. `part` counts the messages of one operation, so that both sides can check
// that they speak of the same one. Zero bytes are a message too. `headerFirst`: not a byte reaches `into` before the
// message is known to be of this operation, which costs a system call more.
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

// Moves messages between ranks over TCP (ranks of one host: over Unix sockets): one connection for each pair of ranks that
// has something to say to each other, opened when first needed (the higher rank dials), used in both directions.
//
// Used by one thread at a time. Every message carries the operation's fingerprint. A message of another operation is
// a Mismatch; note that the bytes of `into` may have been overwritten by then, so `into` is memory of the caller's
// own until it knows that all ranks agree, or the header is taken first.
//
// How a wait ends: by progress; by the end of an awaited peer's data; by somebody's ABORT; by the deadline. That a
// peer has ended is not the end of this operation, since it may have done its part and gone: what it sent before
// still arrives. Whoever misses something notices first, and tells the others. Only a connection that stays silent (a
// host that vanished) is given up some seconds later. A rank that waits longer than kLivenessInterval tells everybody
// in which operation: that way any two ranks that disagree find out, whoever they are waiting for, and a timeout can
// name the ranks that never came.
class Messenger {
 public:
  // All that it is given outlives it.
  Messenger(const Directory& directory, Acceptor& acceptor, ControlMesh& mesh);

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Carries out all of it at once, at most one message from and one to each rank; returns when the last byte has been
  // received, and the last one to send has been taken over by the kernel. Messages of successive transfers keep their
  // order. Throws Failure.
  void transfer(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives);

  // Closes every data connection, so that peers in the middle of a message wake up.
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

  void begin(const Call& call, const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives);
  bool advanceAll(const Call& call);
  bool isComplete() const;
  bool hasConnection(int peer, const Call& call);
  UniqueFd dialOrExplain(int peer, const Call& call);
  bool advance(Sending& sending);
  bool advance(Receiving& receiving, const Call& call);
  void checkHeader(const Receiving& receiving, const Call& call) const;
  bool runsApartFromPeers();
  void waitForReadiness(const Call& call);
  void checkWhileWaiting(const Call& call, Clock::time_point lastProgress);
  void throwIfEnded(int peer, Clock::duration idle);
  std::vector<InvolvedRank> missing(const Call& call) const;
  [[noreturn]] void throwEndOf(int peer, const std::string& noticed);

  int rank_;
  int size_;
  bool isOversubscribed_;  // ranks share processors
  const Directory& directory_;
  Acceptor& acceptor_;
  ControlMesh& mesh_;
  std::vector<UniqueFd> connections_;
  // Where each rank of this machine ran when it sent its last message; kUnknownProcessor for all others.
  std::vector<std::uint32_t> processors_;
  ProcessorMover mover_;
  // Of the transfer under way; members so that their memory is reused.
  std::vector<Sending> sending_;
  std::vector<Receiving> receiving_;
  std::vector<pollfd> interests_;
};

}  // namespace ringrun
