#include "point_to_point/channel.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

#include "base/failure.h"

namespace ringrun {
std::size_t bodyBytesOf(const PointToPointHeader& header) {
  const bool carries = header.type == PointToPointType::Eager || header.type == PointToPointType::Elements;
  return carries ? header.fingerprint.bytes() : 0;
}

bool Channel::write(const std::function<void(const PointToPointHeader&)>& written) {
  bool moved = false;
  while (!frames_.empty() && !hasEnded()) {
    Frame& frame = frames_.front();
    iovec parts[2];
    std::size_t count = 0;
    if (written_ < sizeof frame.header) {
      parts[count++] = {reinterpret_cast<std::uint8_t*>(&frame.header) + written_, sizeof frame.header - written_};
    }
    const std::size_t dataDone = written_ < sizeof frame.header ? 0 : written_ - sizeof frame.header;
    if (dataDone < frame.bytes) {
      auto* const data = static_cast<std::uint8_t*>(const_cast<void*>(frame.data));
      parts[count++] = {data + dataDone, frame.bytes - dataDone};
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(count);
    const ssize_t sent = link_.send(message);
    if (sent < 0 && wouldBlock(errno)) return moved;
    if (sent < 0) {
      end(describeSystemError("sendmsg", errno, "its point-to-point connection"));
      return true;
    }
    moved = true;
    written_ += static_cast<std::size_t>(sent);
    if (written_ < sizeof frame.header + frame.bytes) continue;
    const PointToPointHeader header = frame.header;
    frames_.pop_front();
    written_ = 0;
    written(header);
  }
  return moved;
}

bool Channel::read(const Reader& reader) {
  bool moved = false;
  while (!hasEnded()) {
    if (!inBody_) {
      const std::size_t before = headerDone_;
      const bool complete = fill(&header_, sizeof header_, headerDone_);
      moved |= headerDone_ != before || hasEnded();
      if (!complete) return moved;
      const bool isOurs = header_.magic == kPointToPointMagic && header_.reserved == 0;
      const char* const violation = isOurs ? reader.violation(header_) : "it sent bytes that are not a ringrun message";
      if (violation != nullptr) {
        end(violation);
        isViolated_ = true;
        return true;
      }
      body_ = reader.begin(header_);
      inBody_ = true;
    }
    const std::size_t before = bodyDone_;
    const bool complete = fill(body_, bodyBytesOf(header_), bodyDone_);
    moved |= bodyDone_ != before || hasEnded();
    if (!complete) return moved;
    inBody_ = false;
    headerDone_ = bodyDone_ = 0;
    moved = true;
    reader.end(header_);
  }
  return moved;
}

// Returns true if all bytes have arrived.
bool Channel::fill(void* into, std::size_t bytes, std::size_t& done) {
  while (done < bytes) {
    iovec part{static_cast<std::uint8_t*>(into) + done, bytes - done};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t got = link_.receive(message);
    if (got < 0 && wouldBlock(errno)) return false;
    if (got <= 0) {
      isAltered_ = got < 0 && errno == EBADMSG;
      end(got == 0 ? "its point-to-point connection closed"
                   : describeSystemError("recv", errno, "its point-to-point connection"));
      return false;
    }
    done += static_cast<std::size_t>(got);
  }
  return true;
}

void Channel::end(std::string reason) {
  endReason_ = std::move(reason);
  endedAt_ = Clock::now();
}

void Channel::addInterest(std::vector<pollfd>& interests) const {
  if (hasEnded()) return;
  const bool hasToWrite = !frames_.empty();
  interests.push_back({link_.fd(), static_cast<short>(POLLIN | (hasToWrite ? POLLOUT : 0)), 0});
}

}  // namespace ringrun
