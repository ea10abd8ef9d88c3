#pragma once

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "transport/connect/endpoint.h"

namespace ringrun {

// One call of connect().
struct ConnectAttempt {
  UniqueFd fd;
  int error = 0;  // EINPROGRESS: still connecting. Without a descriptor: of socket()
};

// Never blocks. `bufferBytes`: the size of the buffers of the socket; 0: the system's. Throws Failure.
ConnectAttempt startConnecting(const Endpoint& endpoint, SocketType socketType, Milliseconds silence, int bufferBytes = 0);

// The result of an attempt: 0 or errno; EINPROGRESS while it has none.
int resultOfConnecting(int fd);

}  // namespace ringrun
