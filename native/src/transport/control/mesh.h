#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/failure.h"
#include "base/operation.h"
#include "transport/connect/acceptor.h"
#include "transport/connect/directory.h"
#include "transport/connect/link.h"
#include "transport/control/peer.h"
#include "transport/control/reconnector.h"

namespace ringrun {

// A control connection between every two ranks, beside the data connections. The end of a connection signals
// the death of the peer; failures of other ranks arrive as messages. Works across process-id namespaces.
//
// Used by one thread at a time, which runs the group's current operation. Connecting and sending are in mesh.cc,
// receiving in peer.h; mesh_waits.cc and mesh_failures.cc explain waits and failures.
class ControlMesh {
 public:
  // `directory` must outlive this object.
  explicit ControlMesh(const Directory& directory);
  ~ControlMesh();
  ControlMesh(const ControlMesh&) = delete;
  ControlMesh& operator=(const ControlMesh&) = delete;

  // Connects to all ranks: each rank connects to lower ranks and accepts higher ones. Throws Failure: Timeout
  // with the missing ranks, or PeerDied for a peer whose process ended. `acceptor` must outlive this object.
  void connect(Acceptor& acceptor, const Call& call);

  // After a failed connect(): accepts pending connections, so that abort() reaches their ranks, and receives.
  // A rank that closed its connections may just have detected a death earlier than this rank.
  void settle();

  // Adds the descriptors that become ready when receive() has something to do. `isAwaiting`: also those of connections
  // that are still strangers, even shortly after strangers connected.
  void addInterests(std::vector<pollfd>& interests, bool isAwaiting = false) const;

  // Handles all received messages and lets `acceptor` answer connecting ranks, so that every wait does so. Never blocks,
  // and does not throw if a peer has ended.
  void receive();

  bool hasEnded(int peer) const { return peers_[peer].hasEnded(); }

  // True if the peer left gracefully (LEAVE).
  bool hasLeft(int peer) const { return peers_[peer].state == ControlPeer::State::Left; }

  // True if the connection to the peer ended because it did not answer.
  bool isSilent(int peer) const { return peers_[peer].isSilent; }

  // The shortest round trip to the peer that the kernel has seen. No value for a rank of this host.
  std::optional<std::chrono::microseconds> roundTripTo(int peer) const;

  // The failure of an operation that needs `peer`, after hasEnded(peer).
  Failure endFailure(int peer) const;

  // Throws if any rank failed in operation `sequence` or earlier, because it takes part in no later operation.
  void throwIfFailedBy(std::uint64_t sequence) const;

  // Throws Mismatch if a peer waits in another operation with the same sequence number. Ignores sequence number 0.
  void throwIfDisagreed(const Fingerprint& mine) const;

  // Returns the mismatch with the fingerprints of all ranks instead of two. Waits briefly for the STATUS of
  // ranks that are in an operation.
  Failure withAllSides(const Failure& mismatch, const Fingerprint& mine);

  // Returns a PeerDied with all ranks that are known to have ended by now, and any other failure unchanged. A rank that detects
  // several deaths at once, because it did not run for a while, cannot determine which one caused the others. Peers of this
  // machine that have not connected and no longer listen have ended too, as have those that peers report.
  Failure withAllGone(const Failure& failure);

  // The operation of the peer's last STATUS.
  std::optional<Fingerprint> lastStatusOf(int peer) const;

  // The latest collective that the peer is known to have begun.
  std::optional<Fingerprint> lastSeenIn(int peer) const;

  // The ranks for which the `awaited` ones wait, directly or through others: ranks that wait in an operation or for a
  // message are replaced by the ranks that these wait for. Returns `awaited` if every known rank waits.
  std::vector<InvolvedRank> missingBehind(const std::vector<InvolvedRank>& awaited) const;

  // Sends STATUS, the operation in which this rank waits, to all ranks that have read enough of the earlier ones
  // (kMaxUnreadMessages); once for each operation and rank.
  void sendStatus(const Fingerprint& fingerprint) noexcept;

  // Sends MESSAGE, the message for which this rank waits, to all ranks that do not know it yet. Without a value: no message.
  void sendMessageWait(const std::optional<Fingerprint>& message) noexcept;

  // Sends OUTSIDE if STATUS was sent for this operation. Must be called after every successful collective.
  void operationEnded(const Call& call) noexcept;

  // Prints the report of a long wait, if it is due (base/wait_reports.h). Of the ranks that wait in this
  // operation or in later ones, the lowest prints it. The report names the ranks that have not sent a STATUS
  // or, if all have, the `awaited` ranks.
  using Awaited = std::function<std::vector<InvolvedRank>()>;
  void reportWait(const Call& call, Clock::duration waited, const Awaited& awaited);

  // Describes the state of a rank: "which is in barrier #3". `sequence`: the operation in which it is missing, or
  // 0. `seenIn`: the latest operation that it is known to have begun from other sources.
  std::string describePeer(int peer, std::uint64_t sequence, const std::optional<Fingerprint>& seenIn) const;

  // Sends ABORT to all ranks: this rank's group failed in operation `sequence`. Nothing can be sent afterwards.
  void abort(const Failure& failure, std::uint64_t sequence) noexcept;

  // Sends LEAVE to all ranks. Nothing can be sent afterwards.
  void leave() noexcept;

  // Sends the memory of `fd` to every other rank of this host. Throws Failure.
  void passMemory(int fd, std::uint64_t bytes);

  // Removes and returns the oldest memory received from `peer`, if any.
  std::optional<PassedMemory> takePassedMemory(int peer);

 private:
  void acceptPeers();
  void reconnect();
  void endIfRelaysEnded(ControlPeer& peer);
  std::vector<InvolvedRank> notConnected() const;
  void addPeer(int peer, Link link);
  void sendOutside(std::uint64_t sequence) noexcept;
  std::optional<std::vector<int>> awaitedBy(int peer) const;
  std::optional<Fingerprint> sideOf(int peer, const Fingerprint& mine) const;
  void sendToAll(ControlType type, const std::vector<std::uint8_t>& body) noexcept;
  void shutDownSending() noexcept;

  const Directory& directory_;
  Reconnector reconnector_;
  Acceptor* acceptor_ = nullptr;
  int rank_;
  std::vector<ControlPeer> peers_;  // by rank; that of this rank stays unconnected
  std::optional<std::uint64_t> lastStatusSequence_;
  std::optional<Fingerprint> messageWait_;
  bool hasSentMessageWait_ = false;  // another rank may have received MESSAGE from this rank
  bool owesStatus_ = false;  // another rank has not read enough to be sent the last STATUS
  std::optional<Fingerprint> lastCollective_;  // the last operation known to have begun on all ranks
  Clock::time_point lastReceived_ = Clock::now();
  std::uint64_t endedOperations_ = 0;
  Clock::time_point nextSilenceCheck_ = Clock::now();
};

}  // namespace ringrun
