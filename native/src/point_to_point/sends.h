#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/wait_reports.h"
#include "point_to_point/channel.h"
#include "point_to_point/message.h"
#include "transport/connect/dial.h"
#include "transport/connect/directory.h"

namespace ringrun {

// The messages that this rank sends, and the connections that carry them: one to each rank to which it has sent,
// opened by the first message. A connection carries messages in this direction and replies in the other.
//
// Owns its messages until they are written; their elements stay with the caller, except those of a message that is
// finished early. Used only by the thread of PointToPoint::run(). Never blocks.
class Sends {
 public:
  // All arguments must outlive this object. `cancelled` is set when the group is destroyed.
  Sends(const Directory& directory, const std::atomic<bool>& cancelled, WaitReports& reports);

  // Adds a message. Messages to one rank are sent in the order of these calls.
  void begin(Posted posted);

  // Connects, writes and reads replies as far as possible. Returns true if any byte was transferred. Throws MessageFailure if the
  // receiver cannot be connected.
  bool advance();

  // Adds the descriptors that become ready when advance() has something to do. Returns `timeout`, or less if a connection
  // must be retried earlier.
  Milliseconds addInterests(std::vector<pollfd>& interests, Milliseconds timeout) const;

  bool isEmpty() const { return sends_.empty(); }

  template <typename Visit>
  void forEach(Visit visit) const {
    for (const auto& [_, send] : sends_) visit(send.posted);
  }

  // The number of messages added for each rank.
  const std::vector<std::uint64_t>& sentToEach() const { return sentTo_; }

  // The connection to `peer`; null if nothing was sent to it.
  const Channel* channelTo(int peer) const;

  // The reason why `peer` is not connected yet; empty if no attempt failed.
  std::string connectionProblem(int peer) const;

  // Fails all messages, each as its own operation. Connections stay open.
  void fail(const Failure& failure);

  // Fails all messages with `failure`, and closes the connections.
  void close(const OperationFailure& failure);

 private:
  struct Send {
    Posted posted;
    bool isRequested = false;          // RequestToSend was sent, ClearToSend has not arrived
    std::vector<std::uint8_t> copy{};  // the elements of a message that is finished early
  };
  struct Outgoing {
    Dialling dialling;  // until the channel is open
    Channel channel{};
    std::uint32_t credits = kEagerCredits;
    std::uint32_t requests = 0;           // messages with isRequested
    std::deque<std::uint64_t> delayed{};  // messages beyond kMaxRequestsToSend, and all after them
  };

  Outgoing& outgoingTo(int peer);
  bool connect(int peer, Outgoing& to);
  bool advance(int peer, Outgoing& to);
  void request(Outgoing& to, std::uint64_t id, Send& send);
  void clear(Outgoing& to, std::uint64_t id);
  void finish(std::uint64_t id);
  static void finishEarly(Send& send);
  const char* violationInReply(int peer, const Outgoing& to, const PointToPointHeader& header) const;

  const Directory& directory_;
  const std::atomic<bool>& cancelled_;
  WaitReports& reports_;
  std::uint64_t lastId_ = 0;
  std::vector<std::uint64_t> sentTo_;
  std::map<int, Outgoing> outgoing_;     // by receiver
  std::map<std::uint64_t, Send> sends_;  // by message number
};

}  // namespace ringrun
