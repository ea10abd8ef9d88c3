#pragma once

#include <sys/socket.h>

#include <string>

#include "base/unique_fd.h"

namespace ringrun {

// Descriptors that child processes do not inherit, close-on-exec from their creation: another thread may
// start a process at any time. Sockets and pipes are non-blocking.

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

// The contents of a kernel file (/proc, /sys), at most 64 KiB of it; empty if it cannot be read.
std::string readKernelFile(const std::string& path);

}  // namespace ringrun
