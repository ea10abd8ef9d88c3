#pragma once

#include <poll.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "base/deadline.h"
#include "transport/connect/link.h"
#include "transport/wire.h"

namespace ringrun {

// The point-to-point connection to one peer, with its partly written and partly read messages. Never blocks.
class Channel {
 public:
  // Without a connection: frames wait until open().
  Channel() = default;
  explicit Channel(Link link) : link_(std::move(link)) {}

  bool isOpen() const { return static_cast<bool>(link_); }
  void open(Link link) { link_ = std::move(link); }

  struct Frame {
    PointToPointHeader header;
    const void* data = nullptr;
    std::size_t bytes = 0;
  };

  // Callbacks for received messages: `violation` returns the reason why the peer must not send this message now, or
  // nullptr; `begin` returns the address for the bytes after a header, `end` is called when all of them have arrived.
  struct Reader {
    std::function<const char*(const PointToPointHeader&)> violation;
    std::function<void*(const PointToPointHeader&)> begin;
    std::function<void(const PointToPointHeader&)> end;
  };

  // `frame.data` must stay valid until the frame is written.
  void enqueue(Frame frame) { frames_.push_back(frame); }

  // Writes as much as the kernel accepts, and calls `written` for every frame that it has accepted completely.
  // Returns true if any byte was written or the connection ended.
  bool write(const std::function<void(const PointToPointHeader&)>& written);

  // Reads all available bytes. Returns true if any byte was read or the connection ended. Exceptions of
  // `reader` propagate.
  bool read(const Reader& reader);

  bool hasEnded() const { return !endReason_.empty(); }
  const std::string& endReason() const { return endReason_; }
  Clock::time_point endedAt() const { return endedAt_; }

  // True if the link is encrypted and its bytes were changed in transit.
  bool isAltered() const { return isAltered_; }

  // True if the peer violated the protocol. Nothing more is read from it.
  bool isViolated() const { return isViolated_; }

  void addInterest(std::vector<pollfd>& interests) const;

 private:
  void end(std::string reason);
  bool fill(void* into, std::size_t bytes, std::size_t& done);

  Link link_;
  std::deque<Frame> frames_;
  std::size_t written_ = 0;  // of the first frame, header and data
  PointToPointHeader header_;
  std::size_t headerDone_ = 0;
  void* body_ = nullptr;
  std::size_t bodyDone_ = 0;
  bool inBody_ = false;
  std::string endReason_;
  Clock::time_point endedAt_{};
  bool isViolated_ = false;
  bool isAltered_ = false;
};

// Number of bytes that follow a header.
std::size_t bodyBytesOf(const PointToPointHeader& header);

}  // namespace ringrun
