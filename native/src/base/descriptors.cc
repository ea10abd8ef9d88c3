#include "base/descriptors.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/failure.h"

namespace ringrun {
namespace {

#ifndef __linux__
// Systems without SOCK_CLOEXEC set the flags afterwards.
void makePrivate(int fd) {
  if (fd < 0) return;
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}
#endif

}  // namespace

UniqueFd openSocket(int family) {
#ifdef __linux__
  return UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
#else
  UniqueFd fd(::socket(family, SOCK_STREAM, 0));
  makePrivate(fd.get());
  return fd;
#endif
}

UniqueFd acceptConnection(int listener, sockaddr* from, socklen_t* length) {
#ifdef __linux__
  return UniqueFd(::accept4(listener, from, length, SOCK_CLOEXEC | SOCK_NONBLOCK));
#else
  UniqueFd fd(::accept(listener, from, length));
  makePrivate(fd.get());
  return fd;
#endif
}

Pipe openPipe(const std::string& use) {
  int ends[2];
#ifdef __linux__
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throwSystem("pipe2", errno, use);
#else
  if (::pipe(ends) != 0) throwSystem("pipe", errno, use);
  for (const int end : ends) makePrivate(end);
#endif
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string readKernelFile(const std::string& path) {
  constexpr std::size_t kMaxBytes = 64 * 1024;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return "";
  std::string text;
  char bytes[4096];
  while (text.size() < kMaxBytes) {
    const ssize_t got = ::read(fd.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(bytes, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace ringrun
