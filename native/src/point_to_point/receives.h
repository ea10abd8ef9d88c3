#pragma once

#include <poll.h>

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "point_to_point/channel.h"
#include "point_to_point/message.h"
#include "transport/connections.h"

namespace ringrun {

// The receives that this rank has posted, the messages that arrive for it, and the connections that carry them, which
// other ranks open. A receive matches the oldest message with its tag from its rank, or from any rank.
//
// A receive is first in `unmatched_`; once its message is announced, in `arriving_` until all elements have arrived. A short
// message without a receive is stored in `unexpected_`, which also holds the receive that matches it while it arrives.
// Owns its receives; their memory stays with the caller. Used only by the thread of PointToPoint::run(). Never
// blocks.
class Receives {
 public:
  // `connections` must outlive this object.
  explicit Receives(Connections& connections);

  // Adds a receive. Throws MessageFailure if a message that matches it has another dtype or length, as advance() does.
  void begin(Posted posted);

  // Accepts the connections of other ranks. Returns true if it accepted any.
  bool acceptConnections();

  // Reads messages and writes replies as far as possible. Returns true if any byte was transferred.
  bool advance();

  // Adds the descriptors that become ready when advance() has something to do.
  void addInterests(std::vector<pollfd>& interests) const;

  // True if a rank may still connect to send its first message.
  bool mayBeDialled() const { return incoming_.size() + 1 < announcedFrom_.size(); }

  bool isEmpty() const { return unmatched_.empty() && arriving_.empty() && !areUnexpectedAwaited(); }

  template <typename Visit>
  void forEach(Visit visit) const {
    for (const auto& receive : unmatched_) visit(receive);
    for (const auto& [_, receive] : arriving_) visit(receive);
    for (const auto& message : unexpected_) {
      if (message.receive) visit(*message.receive);
    }
  }

  // True if these numbers of messages from each rank have been announced, and the receives that match them have
  // completed.
  bool hasReceived(const std::vector<std::uint64_t>& sentFrom) const;

  // The connection from `peer`; null if it has not connected.
  const Channel* channelFrom(int peer) const;

  // Fails all receives without a message, each as its own operation. Connections stay open.
  void fail(const Failure& failure);

  // Fails all receives with `failure`, drops stored messages, and closes the connections.
  void close(const OperationFailure& failure);

 private:
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

  bool advance(int peer, Incoming& from);
  void* beginReading(int peer, const PointToPointHeader& header);
  void endReading(int peer, const PointToPointHeader& header);
  std::optional<Posted> takeMatching(int peer, const PointToPointHeader& header);
  void claim(Posted receive, std::list<UnexpectedMessage>::iterator message);
  void clearToSend(MessageId id, Posted receive);
  void credit(int peer);
  void finish(MessageId id);
  bool areUnexpectedAwaited() const;
  void requireAgreement(const Posted& receive, int peer, const PointToPointHeader& header) const;
  const char* violationInMessage(int peer, const Incoming& from, const PointToPointHeader& header) const;

  Connections& connections_;
  std::vector<std::uint64_t> announcedFrom_;  // messages of each rank whose header has arrived
  std::map<int, Incoming> incoming_;          // by sender
  std::list<Posted> unmatched_;               // without a matching message
  std::map<MessageId, Posted> arriving_;      // whose elements are being received
  std::list<UnexpectedMessage> unexpected_;   // without a matching receive
};

}  // namespace ringrun
