#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace ringrun {

// Unix sockets by which the ranks of a host connect. Linux has abstract names, which need no file. Elsewhere a name is the
// path of a file in a folder that only this user can open.

// A new name, which no other socket has. Throws Failure.
std::string newSocketName();

// The file of a listening socket, which must be deleted with it; empty if it has none.
std::string fileOfSocket(const std::string& name);

// The address of a name, and its length; a length of 0 if the name is not valid.
socklen_t addressOfSocket(const std::string& name, sockaddr_un& address);

// For messages: "Unix socket @ringrun-0a1b2c3d".
std::string describeSocket(const std::string& name);

// The user of the process at the other end of a connected Unix socket, if it is neither this process's user nor root:
// "user 1001". Otherwise empty.
std::string foreignUser(int fd);

}  // namespace ringrun
