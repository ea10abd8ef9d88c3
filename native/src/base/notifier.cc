#include "base/notifier.h"

#include <fcntl.h>

#include <cerrno>

#include "base/failure.h"

namespace ringrun {

Notifier::Notifier() {
  int ends[2];
  if (::pipe(ends) != 0) throwSystem("pipe", errno, "to wake a waiting thread");
  out_.reset(ends[0]);
  in_.reset(ends[1]);
  for (const int end : ends) {
    ::fcntl(end, F_SETFL, O_NONBLOCK);
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
  }
}

// If the pipe is full, it is readable already.
void Notifier::notify() const noexcept {
  const char once = 1;
  [[maybe_unused]] const ssize_t written = ::write(in_.get(), &once, 1);
}

void Notifier::clear() const noexcept {
  char bytes[64];
  while (::read(out_.get(), bytes, sizeof bytes) == sizeof bytes) {
  }
}

}  // namespace ringrun
