#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/failure.h"
#include "base/operation.h"
#include "base/unique_fd.h"
#include "transport/connect/acceptor.h"
#include "transport/connect/directory.h"

namespace ringrun {

// One quiet connection from each rank to each other, beside the data: a peer's death is its end of file, and what
// went wrong elsewhere arrives as a message. Works in whatever process-id namespaces the ranks live.
//
// Used by one thread at a time: the one that runs the group's current operation. A peer is present until it leaves
// (LEAVE), fails (ABORT) or its connection ends; it never comes back, and the first of the three is what is
// remembered.
class ControlMesh {
 public:
  // `directory` outlives it.
  explicit ControlMesh(const Directory& directory);

  // Connects to everybody; returns when all are there. Ranks dial those below them and accept those above.
  // Throws Failure: Timeout naming who is missing, PeerDied for a peer whose process went away.
  void connect(Acceptor& acceptor, const Call& call);

  // What to poll for until receive() has something to do.
  void addInterests(std::vector<pollfd>& interests) const;

  // Takes in what has arrived. Never blocks, never throws because of a peer's end.
  void receive();

  bool hasEnded(int peer) const;

  // Whether it ended in good order (LEAVE).
  bool hasLeft(int peer) const { return peers_[peer].presence == Presence::Left; }

  // The failure that a rank which needs `peer` meets once hasEnded(peer).
  Failure whyEnded(int peer) const;

  // Throws when some rank has failed in operation `sequence` or before: it will not take part any more.
  void throwIfFailedBy(std::uint64_t sequence) const;

  // Throws Mismatch when a peer waits in another operation of the same sequence number.
  void throwIfDisagreed(const Fingerprint& mine) const;

  // A mismatch that this rank has met, with the sides of all ranks instead of two: waits a moment for those that are
  // in an operation, too, to say in which.
  Failure withEverySide(const Failure& mismatch, const Fingerprint& mine);

  // The operation in which a peer said it waits.
  std::optional<Fingerprint> lastStatusOf(int peer) const;

  // Tells all ranks which operation this rank waits in; once for each operation.
  void tellStatus(const Fingerprint& fingerprint) noexcept;

  // Tells all ranks that this rank has left an operation whose STATUS it had sent; to be called when a collective has
  // ended well.
  void operationEnded(const Call& call) noexcept;

  // Writes the line on a wait that takes long, where one is due (base/wait_reports.h). Of the ranks that wait in one
  // operation, or in later ones, the lowest writes it. `awaited` gives the ranks that this one waits for: they are named
  // where every rank has said that it waits, otherwise those that have not.
  using Awaited = std::function<std::vector<InvolvedRank>()>;
  void reportWait(const Call& call, Clock::duration waited, const Awaited& awaited);

  // What is known of where a rank is, in words: "in barrier #3". `sequence`: of the operation that it is missing in; 0:
  // of none. `seenIn`: the latest operation that it is known to have begun by other means.
  std::string describePeer(int peer, std::uint64_t sequence, const std::optional<Fingerprint>& seenIn) const;

  // Tells all ranks that this rank's group failed in operation `sequence`. Sends nothing afterwards.
  void abort(const Failure& failure, std::uint64_t sequence) noexcept;

  // Tells everybody that this rank is done in good order. Says no more afterwards.
  void leave() noexcept;

  // Hands the memory behind `fd` to every other rank of this host. Throws Failure.
  void sendSegment(int fd, std::uint64_t bytes);

  // The oldest segment from `peer` that has arrived and was not taken yet.
  struct Segment {
    UniqueFd fd;
    std::uint64_t bytes = 0;
  };
  std::optional<Segment> takeSegment(int peer);

 private:
  enum class Presence { Absent, Present, Left, Failed, Gone };

  struct Peer {
    UniqueFd fd;
    Presence presence = Presence::Absent;
    std::vector<std::uint8_t> inbox;  // bytes of messages that are not complete yet
    std::deque<UniqueFd> descriptors;
    std::deque<Segment> segments;
    std::optional<Fingerprint> status;
    bool waits = false;  // in the operation of `status`, still
    std::optional<Failure> failure;  // as it reads on this rank
    std::uint64_t failedSequence = 0;
    std::string howGone;
  };

  void acceptThoseAbove(Acceptor& acceptor, const Call& call);
  std::vector<InvolvedRank> absent() const;
  void admit(int peer, UniqueFd fd);
  void receiveFrom(int peer);
  void readMessages(int peer);
  void handle(int peer, ControlType type, const std::uint8_t* body, std::size_t bytes);
  void markGone(int peer, std::string how);
  bool waitsAtLeastIn(int peer, std::uint64_t sequence) const;
  std::optional<Fingerprint> sideOf(int peer, const Fingerprint& mine) const;
  void sendToAll(ControlType type, const std::vector<std::uint8_t>& body) noexcept;
  void sayNoMore() noexcept;

  const Directory& directory_;
  int rank_;
  std::vector<Peer> peers_;
  std::optional<std::uint64_t> lastStatusSequence_;
  std::optional<Fingerprint> lastOfAll_;  // the last operation that every rank is known to have begun
  Clock::time_point lastReceived_ = Clock::now();
};

}  // namespace ringrun
