#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/notifier.h"
#include "base/wait_reports.h"
#include "point_to_point/channel.h"
#include "point_to_point/message.h"
#include "transport/connect/dial.h"
#include "transport/connections.h"

namespace ringrun {

// Messages between two ranks, beside the collectives, with MPI's matching rules: a receive matches the oldest
// message with its tag from its rank, or from any rank. The sender connects when it first sends; the connection
// stays open.
//
// Messages of up to kEagerMessageBytes are sent at once; the receiver stores up to kEagerCredits of them without a
// matching receive. Others are sent when their receive is posted: so no message blocks another one, and long ones are
// received in place.
//
// post() may be called by any thread. All other functions are called by one thread, the one of run().
class PointToPoint {
 public:
  // `connections` must outlive this object. `cancelled` is set when the group is destroyed. `reports` is
  // copied, because collectives report at the same time.
  PointToPoint(Connections& connections, const std::atomic<bool>& cancelled, const WaitReports& reports);

  // Posts the message. Returns true if run() is not active: the caller must then schedule it.
  bool post(Message message);

  // Runs until no message is pending. Throws Failure; end() must follow.
  void run();

  // The message for which run() threw its failure.
  const Fingerprint& failedMessage() const { return failedFingerprint_; }
  double failedTimeoutMs() const { return failedTimeoutMs_; }

  // Fails all pending and all later messages with `failure`.
  void end(const OperationFailure& failure);

  // How many messages this rank has sent to each rank, after every message posted so far is counted.
  std::vector<std::uint64_t> sentToEach() const { return sentTo_; }

  // True if a posted message has not been looked at yet.
  bool hasUnseenPosts();

  // True if all of these numbers of messages from each rank have been announced, and the receives that match them have
  // completed.
  bool hasReceived(const std::vector<std::uint64_t>& sentFrom);

  // Fail all pending receives, or sends, with `failure`.
  void endReceives(const Failure& failure);
  void endSends(const Failure& failure);

  // True while messages are pending.
  bool isBusy() const { return busy_.load(std::memory_order_acquire); }

  // Wakes run() if it waits, so that it checks for failures.
  void notify() const noexcept { notifier_.notify(); }

 private:
  struct Posted {
    Message message;
    Deadline deadline;
    bool isRequested = false;  // of a send: RequestToSend was sent, ClearToSend has not arrived
    bool isFinishedEarly = false;      // a short message that is reported as sent before it is
    std::vector<std::uint8_t> copy{};  // its elements
  };
  struct Outgoing {
    Dialling dialling;  // until the channel is open
    Channel channel{};
    std::uint32_t credits = kEagerCredits;
    std::uint32_t requests = 0;           // sends with isRequested
    std::deque<std::uint64_t> delayed{};  // sends beyond kMaxRequestsToSend, and all after them
  };
  struct Incoming {
    Channel channel;
    std::uint64_t lastId = 0;
    std::uint32_t uncredited = 0;  // eager messages since the last Credit, received or not
    std::uint32_t received = 0;    // of these, the received ones
    std::uint32_t requests = 0;    // unexpected messages of type RequestToSend
  };
  struct UnexpectedMessage {
    int from;
    PointToPointHeader header;
    std::vector<std::uint8_t> elements;  // of an eager message
    bool complete;                       // all elements have arrived
    std::optional<Posted> receive;       // matched while elements are still arriving
  };
  using MessageId = std::pair<int, std::uint64_t>;  // sender, and its number for the message

  void acceptPosted();
  bool stopWhenDone();
  void beginSend(Posted posted);
  void beginReceive(Posted posted);
  bool advance();
  bool advanceSends(int peer, Outgoing& to);
  bool advanceReceives(int peer, Incoming& from);
  void request(Outgoing& to, std::uint64_t id, Posted& send);
  void clear(Outgoing& to, std::uint64_t id);
  const char* violationInReply(int peer, const Outgoing& to, const PointToPointHeader& header) const;
  const char* violationInMessage(int peer, const Incoming& from, const PointToPointHeader& header) const;
  void credit(int peer);
  bool mayBeDialled() const;
  bool acceptConnections();
  void* beginReading(int peer, const PointToPointHeader& header);
  void endReading(int peer, const PointToPointHeader& header);
  void claim(Posted receive, std::list<UnexpectedMessage>::iterator unexpected);
  void clearToSend(MessageId id, Posted receive);
  std::optional<Posted> takeMatchingReceive(int peer, const PointToPointHeader& header);
  void finishSend(std::uint64_t id);
  void finishReceive(MessageId id);
  Outgoing& outgoingTo(const Posted& send);
  bool connectTo(int peer, Outgoing& to);
  static void finishEarly(Posted& send);
  void wait();
  void checkWhileWaiting();
  std::vector<int> peersAwaitedBy(const Posted& posted) const;
  Failure timeoutOf(const Posted& posted) const;
  bool canReceiveNothingFrom(int peer) const;
  void throwIfViolated(int peer) const;
  void throwIfEnded(const Posted& posted);
  const Posted* oldest(int& pending);
  void reportOldest();
  static void endOne(const Posted& posted, const Failure& failure);
  void checkAgreement(const Posted& receive, int peer, const PointToPointHeader& header);
  [[noreturn]] void fail(const Posted& posted, const Failure& failure);
  bool hasPending();
  template <typename Visit>
  void visitPending(Visit visit);

  Connections& connections_;
  const std::atomic<bool>& cancelled_;
  WaitReports reports_;
  int rank_;
  int spins_;

  std::mutex mutex_;
  std::vector<Message> posted_;
  std::optional<OperationFailure> ended_;
  std::atomic<bool> busy_{false};
  Notifier notifier_;

  std::map<int, Outgoing> outgoing_;
  std::map<int, Incoming> incoming_;
  std::uint64_t sent_ = 0;
  bool isAccepting_ = false;                  // posted messages are being looked at
  std::vector<std::uint64_t> sentTo_;         // messages to each rank
  std::vector<std::uint64_t> announcedFrom_;  // messages of each rank whose header has arrived
  std::map<std::uint64_t, Posted> sends_;    // by message number
  std::list<Posted> receives_;               // posted, without a matching message
  std::map<MessageId, Posted> arriving_;     // receives whose elements are being received
  std::list<UnexpectedMessage> unexpected_;  // without a matching receive
  Fingerprint failedFingerprint_;
  double failedTimeoutMs_ = 0;
};

}  // namespace ringrun
