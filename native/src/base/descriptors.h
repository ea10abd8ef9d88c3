#pragma once

#include <sys/socket.h>

#include <string>

#include "base/unique_fd.h"

namespace ringrun {

// Descriptors that child processes do not inherit, close-on-exec from their creation where the system can (Linux): another
// thread may start a process at any time. Sockets and pipes are non-blocking.

// A stream socket. Empty on failure, with errno.
UniqueFd openSocket(int family);

// The next connection of a listening socket, and the address of its other end. Empty on failure, with errno.
UniqueFd acceptConnection(int listener, sockaddr* from, socklen_t* length);

struct Pipe {
  UniqueFd readEnd;
  UniqueFd writeEnd;
};

// `use`: for the message of the Failure that it throws.
Pipe openPipe(const std::string& use);

// Like setsockopt() with a number. Returns 0 or errno; 0 also for a connection that has ended, whose next use fails.
int setSocketOption(int fd, int level, int option, int value);

// Flag of send() and sendmsg(): a connection that the other side has closed is an error, not a SIGPIPE.
extern const int kNoSignal;

// Flag of recvmsg(): passed descriptors are close-on-exec. Where no such flag exists, closeOnExec() makes them so
// afterwards; elsewhere it does nothing.
extern const int kCloseOnExec;
void closeOnExec(int fd);

}  // namespace ringrun
