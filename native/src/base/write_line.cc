#include "base/write_line.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace ringrun {

void writeLine(const std::string& line) {
  constexpr int kTimeoutMs = 50;
  if (::write(STDERR_FILENO, line.data(), line.size()) >= 0 || errno != EAGAIN) return;
  pollfd interest{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&interest, 1, kTimeoutMs) <= 0) return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace ringrun
