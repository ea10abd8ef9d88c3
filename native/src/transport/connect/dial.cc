#include "transport/connect/dial.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/descriptors.h"
#include "base/failure.h"
#include "base/wait.h"
#include "base/wait_reports.h"
#include "transport/connect/address.h"

namespace ringrun {
namespace {

struct Attempt {
  UniqueFd fd;
  int error = 0;  // EINPROGRESS: still connecting. Without a descriptor: of socket()
};

Attempt startConnecting(const SocketAddress& at, SocketType socketType) {
  Attempt attempt;
  attempt.fd = openSocket(at.family());
  if (!attempt.fd) {
    attempt.error = errno;
    return attempt;
  }
  prepareConnection(attempt.fd.get(), socketType);
  attempt.error = ::connect(attempt.fd.get(), at.get(), at.length) == 0 ? 0 : errno;
  return attempt;
}

void awaitConnecting(Attempt& attempt, Milliseconds timeout) {
  pollfd interest{attempt.fd.get(), POLLOUT, 0};
  if (pollSockets(&interest, 1, timeout) == 0) return;
  socklen_t length = sizeof attempt.error;
  ::getsockopt(attempt.fd.get(), SOL_SOCKET, SO_ERROR, &attempt.error, &length);
}

void sendHello(int fd, int self, const Token& token, Purpose purpose) {
  Hello hello;
  hello.purpose = purpose;
  hello.rank = static_cast<std::uint32_t>(self);
  std::memcpy(hello.token, token.data(), kTokenBytes);
  // 32 bytes always fit into the buffer of a new connection. A connection that broke meanwhile fails at its
  // first use.
  [[maybe_unused]] const ssize_t sent = ::send(fd, &hello, sizeof hello, MSG_NOSIGNAL);
}

// A host that one rank cannot reach is unreachable for all ranks on its host: the first of them reports it.
void reportUnanswered(const Directory& directory, int peer, const std::string& where, const Call& call) {
  if (directory.localRanks().front() != directory.rank()) return;
  if (!call.reports.isDue(call.deadline.since(), Clock::now() - call.deadline.since())) return;
  call.reports.write(directory.rank(), call, {{peer, "which does not answer at " + where}});
}

}  // namespace

void throwIfTimedOutOrCancelled(const Call& call, int missing, const std::string& what) {
  if (call.cancelled.load(std::memory_order_relaxed)) {
    throw Failure(FailureCode::Closed, {}, "this process destroyed the group while the operation was running");
  }
  if (call.deadline.passed()) throw Failure(FailureCode::Timeout, {{missing, {}}}, what);
}

UniqueFd dial(const Directory& directory, int peer, Purpose purpose, const Call& call) {
  const Endpoint& to = directory.endpointOf(peer);
  const SocketType socketType = directory.socketTypeTo(peer);
  const SocketAddress at = SocketAddress::of(to, socketType);
  const std::string where = describe(to, socketType);
  for (;;) {
    Attempt attempt = startConnecting(at, socketType);
    if (!attempt.fd) throwSystem("socket", attempt.error, "a connection to another rank");
    while (attempt.error == EINPROGRESS) {
      awaitConnecting(attempt, call.deadline.leftWithin(kLivenessInterval));
      reportUnanswered(directory, peer, where, call);
      throwIfTimedOutOrCancelled(call, peer, "no answer from " + where);
    }
    if (attempt.error == 0) {
      sendHello(attempt.fd.get(), directory.rank(), to.token, purpose);
      return std::move(attempt.fd);
    }
    if (attempt.error != EAGAIN) {
      throw Failure(FailureCode::PeerDied, {{peer, {}}}, describeSystemError("connect", attempt.error, where));
    }
    // A Unix socket's backlog is full: the listener is about to accept.
    reportUnanswered(directory, peer, where, call);
    throwIfTimedOutOrCancelled(call, peer, "it did not accept a connection at " + where);
    pollSockets(nullptr, 0, Milliseconds{1});
  }
}

bool hasStoppedListening(const Directory& directory, int peer) {
  const SocketType socketType = directory.socketTypeTo(peer);
  Attempt attempt = startConnecting(SocketAddress::of(directory.endpointOf(peer), socketType), socketType);
  if (!attempt.fd) return false;  // unknown
  if (attempt.error == EINPROGRESS) awaitConnecting(attempt, Milliseconds{20});
  return attempt.error == ECONNREFUSED;
}

}  // namespace ringrun
