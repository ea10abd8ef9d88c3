#pragma once

#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "transport/connect/endpoint.h"

namespace ringrun {

// Deletes the file of a listening socket when it is destroyed, if it has one.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path) : path_(std::move(path)) {}
  SocketFile(SocketFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  SocketFile& operator=(SocketFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~SocketFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

 private:
  std::string path_;
};

// A listening socket.
struct Listener {
  UniqueFd fd;
  SocketFile file;
  SocketType socketType = SocketType::Tcp;
  std::string socketName;  // of a Unix socket
  std::uint16_t port = 0;  // of a TCP socket, chosen by the system

  // A Unix socket with a random name (unix_socket.h): on Linux an abstract one, visible only in this network namespace.
  // Throws Failure.
  static Listener unixSocket();

  // `address`: a numeric address of this host. Throws Failure.
  static Listener tcp(const std::string& address);
};

}  // namespace ringrun
