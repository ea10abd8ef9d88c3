#include "transport/connect/connect_attempt.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/descriptors.h"
#include "transport/connect/address.h"

namespace ringrun {

ConnectAttempt startConnecting(const Endpoint& endpoint, SocketType socketType, Milliseconds silence, int bufferBytes) {
  const SocketAddress at = SocketAddress::of(endpoint, socketType);
  ConnectAttempt attempt;
  attempt.fd = openSocket(at.family());
  if (!attempt.fd) {
    attempt.error = errno;
    return attempt;
  }
  prepareConnection(attempt.fd.get(), socketType, silence);
  if (bufferBytes > 0) limitBuffers(attempt.fd.get(), bufferBytes);
  attempt.error = ::connect(attempt.fd.get(), at.get(), at.length) == 0 ? 0 : errno;
  return attempt;
}

int resultOfConnecting(int fd) {
  pollfd interest{fd, POLLOUT, 0};
  if (::poll(&interest, 1, 0) <= 0) return EINPROGRESS;
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

}  // namespace ringrun
