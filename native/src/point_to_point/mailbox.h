#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/bell.h"
#include "base/wait_reports.h"
#include "point_to_point/channel.h"
#include "point_to_point/letter.h"
#include "transport/connections.h"

namespace ringrun {

// Messages between two ranks, beside the collectives (MPI's matching rules): a receive takes the oldest message with
// its tag from its rank, or from any. The sender connects, once, and the connection stays.
//
// Up to kEagerMessageBytes are sent at once, and kept by the receiver until they are requested. Longer messages are
// announced, and sent when their receive is there: so no message waits behind an unrequested one, and elements
// land where they belong.
//
// post() may be called by any thread; everything else runs on one, that of run().
class Mailbox {
 public:
  // `connections` outlives it. `cancelled`: set when the group is over. It reports by a copy of `reports`, beside the
  // group's collectives.
  Mailbox(Connections& connections, const std::atomic<bool>& cancelled, const WaitReports& reports);

  // Takes the letter over. True: nobody is running the mailbox, and the caller has to have run() called.
  bool post(Letter letter);

  // Carries out letters until none is left. Throws Failure, after which end() has to follow.
  void run();

  // The letter that the failure thrown by run() is about.
  const Fingerprint& failedLetter() const { return failedFingerprint_; }
  double failedTimeoutMs() const { return failedTimeoutMs_; }

  // Ends every letter with `failure`, and those that still come.
  void end(const OperationFailure& failure);

  // Whether letters are under way.
  bool isBusy() const { return busy_.load(std::memory_order_acquire); }

  // Makes a waiting run() look around.
  void nudge() const noexcept { bell_.ring(); }

 private:
  struct Posted {
    Letter letter;
    Deadline deadline;
  };
  struct Message {
    int from;
    NoteHeader header;
    std::vector<std::uint8_t> elements;  // of an eager one
    bool complete;                       // all of them are there
    std::optional<Posted> receive;       // that waits for the rest
  };
  using MessageId = std::pair<int, std::uint64_t>;  // sender, its number

  void takeLetters();
  bool restWhenDone();
  void beginSend(Posted posted);
  void beginReceive(Posted posted);
  bool advance();
  bool advanceSends(int peer, Channel& channel);
  bool advanceReceives(int peer, Channel& channel);
  bool admitCallers();
  void* beginReading(int peer, const NoteHeader& header);
  void endReading(int peer, const NoteHeader& header);
  void claim(Posted receive, std::list<Message>::iterator message);
  void grant(MessageId id, Posted receive);
  std::optional<Posted> takeReceiveFor(int peer, const NoteHeader& header);
  void finishSend(std::uint64_t id);
  void finishReceive(MessageId id);
  Channel& channelTo(const Posted& send);
  void wait();
  void throwIfHopeless();
  std::vector<int> awaitedBy(const Posted& posted) const;
  Failure timeoutOf(const Posted& posted) const;
  bool nothingComesFrom(int peer) const;
  void throwIfEnded(const Posted& posted);
  void reportOldest();
  void checkAgreement(const Posted& receive, int peer, const NoteHeader& header);
  [[noreturn]] void fail(const Posted& posted, const Failure& failure);
  bool hasLetters();
  template <typename Visit>
  void visitLetters(Visit visit);

  Connections& connections_;
  const std::atomic<bool>& cancelled_;
  WaitReports reports_;
  int rank_;
  int spins_;

  std::mutex mutex_;
  std::vector<Letter> inbox_;
  std::optional<OperationFailure> ended_;
  std::atomic<bool> busy_{false};
  Bell bell_;

  std::map<int, Channel> outgoing_;
  std::map<int, Channel> incoming_;
  std::uint64_t sent_ = 0;
  std::map<std::uint64_t, Posted> sends_;         // by number of the message
  std::list<Posted> receives_;                    // that no message has come for
  std::map<MessageId, Posted> granted_;           // receives whose elements are on their way
  std::list<Message> unclaimed_;                  // messages that no receive has come for
  Fingerprint failedFingerprint_;
  double failedTimeoutMs_ = 0;
};

}  // namespace ringrun
