#pragma once

#include <poll.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "transport/wire.h"

namespace ringrun {

// One connection between two ranks, and what is half written to it and half read from it. Never blocks.
class Channel {
 public:
  explicit Channel(UniqueFd fd) : fd_(std::move(fd)) {}

  struct Frame {
    NoteHeader header;
    const void* data = nullptr;
    std::size_t bytes = 0;
  };

  // What to do with what arrives: where the bytes after a header go, and what follows when they are there.
  struct Reader {
    std::function<void*(const NoteHeader&)> begin;
    std::function<void(const NoteHeader&)> end;
  };

  // `frame.data` stays where it is until the frame is written.
  void enqueue(Frame frame) { frames_.push_back(frame); }

  // Writes what the kernel takes; `written` is told of every frame that it has taken over. True: something moved.
  bool write(const std::function<void(const NoteHeader&)>& written);

  // Reads what there is. True: something moved. What `reader` throws passes through.
  bool read(const Reader& reader);

  bool hasEnded() const { return !howEnded_.empty(); }
  const std::string& howEnded() const { return howEnded_; }

  void addInterest(std::vector<pollfd>& interests) const;

 private:
  bool fill(void* into, std::size_t bytes, std::size_t& done);

  UniqueFd fd_;
  std::deque<Frame> frames_;
  std::size_t written_ = 0;  // of the first frame, header and data
  NoteHeader header_;
  std::size_t headerDone_ = 0;
  void* body_ = nullptr;
  std::size_t bodyDone_ = 0;
  bool inBody_ = false;
  std::string howEnded_;
};

// Bytes that follow a header.
std::size_t bodyBytesOf(const NoteHeader& header);

}  // namespace ringrun
