#include "base/bell.h"

#include <fcntl.h>

#include <cerrno>

#include "base/failure.h"

namespace ringrun {

Bell::Bell() {
  int ends[2];
  if (::pipe(ends) != 0) throwSystem("pipe", errno, "to wake a waiting thread");
  out_.reset(ends[0]);
  in_.reset(ends[1]);
  for (const int end : ends) {
    ::fcntl(end, F_SETFL, O_NONBLOCK);
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
  }
}

// A full pipe has been rung often enough.
void Bell::ring() const noexcept {
  const char once = 1;
  [[maybe_unused]] const ssize_t written = ::write(in_.get(), &once, 1);
}

void Bell::clear() const noexcept {
  char rings[64];
  while (::read(out_.get(), rings, sizeof rings) == sizeof rings) {
  }
}

}  // namespace ringrun
