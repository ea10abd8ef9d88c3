#include "base/descriptors.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/failure.h"

namespace ringrun {

// macOS has had MSG_NOSIGNAL for a few versions only; its sockets have an option instead (makeSocketPrivate).
#ifdef SO_NOSIGPIPE
const int kNoSignal = 0;
#else
const int kNoSignal = MSG_NOSIGNAL;
#endif
const int kCloseOnExec = 0;

void closeOnExec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

namespace {

void makePrivate(int fd) {
  if (fd < 0) return;
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  closeOnExec(fd);
}

void makeSocketPrivate(int fd) {
  makePrivate(fd);
#ifdef SO_NOSIGPIPE
  if (fd >= 0) setSocketOption(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
}

}  // namespace

UniqueFd openSocket(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM, 0));
  makeSocketPrivate(fd.get());
  return fd;
}

UniqueFd acceptConnection(int listener, sockaddr* from, socklen_t* length) {
  UniqueFd fd(::accept(listener, from, length));
  makeSocketPrivate(fd.get());
  return fd;
}

Pipe openPipe(const std::string& use) {
  int ends[2];
  if (::pipe(ends) != 0) throwSystem("pipe", errno, use);
  for (const int end : ends) makePrivate(end);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// macOS returns EINVAL for a connection that the other side has closed.
int setSocketOption(int fd, int level, int option, int value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0 || errno == EINVAL ? 0 : errno;
}

}  // namespace ringrun
