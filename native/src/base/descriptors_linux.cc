#include "base/descriptors.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/failure.h"

namespace ringrun {

const int kNoSignal = MSG_NOSIGNAL;
const int kCloseOnExec = MSG_CMSG_CLOEXEC;

void closeOnExec(int) {}

UniqueFd openSocket(int family) { return UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

UniqueFd acceptConnection(int listener, sockaddr* from, socklen_t* length) {
  return UniqueFd(::accept4(listener, from, length, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

Pipe openPipe(const std::string& use) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throwSystem("pipe2", errno, use);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

int setSocketOption(int fd, int level, int option, int value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0 ? 0 : errno;
}

}  // namespace ringrun
