#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

namespace fake_nccl {

enum Result { Success = 0, InternalError = 3, InvalidArgument = 4, InvalidUsage = 5, RemoteError = 6, InProgress = 7 };

struct UniqueId {
  char bytes[128];
};

// The ranks of the fake NCCL: each has a socket to every other one.
struct FakeComm {
  int rank = 0;
  int size = 0;
  UniqueId id{};
  // Guards the descriptors while one thread forms the communicator and another may abort it. Afterwards they do
  // not change.
  std::mutex forming;
  int listener = -1;
  std::vector<int> sockets;
  std::atomic<int> state{InProgress};
  std::atomic<int> error{Success};
  std::atomic<bool> aborted{false};
  std::atomic<bool> hangs{false};
  std::atomic<int> pending{0};
  std::atomic<int> launches{0};
  std::atomic<std::uint64_t> recordedOperations{0};
  std::atomic<int> graphReferences{0};  // of recorded operations whose graphs exist
};

// ---- forming

inline int listenOnLoopback(int* port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  ::listen(fd, 128);
  socklen_t length = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  *port = ntohs(address.sin_port);
  return fd;
}

inline int connectTo(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return -1;
  }
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return fd;
}

inline bool readAll(int fd, void* data, std::size_t bytes) {
  return ::recv(fd, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

struct Introduction {
  std::int32_t rank;
  std::int32_t size;
  std::int32_t port;
};

// Sends the addresses of all ranks to every rank, after all have connected.
inline void introduce(int listener) {
  std::vector<int> sockets;
  std::vector<std::int32_t> ports;
  std::size_t come = 0;
  do {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Introduction one{};
    if (fd < 0 || !readAll(fd, &one, sizeof one)) break;
    ports.resize(static_cast<std::size_t>(one.size));
    ports[static_cast<std::size_t>(one.rank)] = one.port;
    sockets.push_back(fd);
    ++come;
  } while (come < ports.size());
  for (const int fd : sockets) {
    [[maybe_unused]] const ssize_t sent = ::send(fd, ports.data(), ports.size() * sizeof ports.front(), MSG_NOSIGNAL);
    ::close(fd);
  }
  ::close(listener);
}

// Stores a descriptor, unless the communicator was aborted meanwhile.
inline void keep(FakeComm* comm, int& place, int fd) {
  const std::lock_guard<std::mutex> lock(comm->forming);
  if (comm->aborted && fd >= 0) {
    ::close(fd);
    fd = -1;
  }
  place = fd;
}

inline void form(FakeComm* comm) {
  int rootPort = 0;
  std::memcpy(&rootPort, comm->id.bytes, sizeof rootPort);
  int port = 0;
  const int listener = listenOnLoopback(&port);
  keep(comm, comm->listener, listener);
  const int root = connectTo(rootPort);
  std::vector<std::int32_t> ports(static_cast<std::size_t>(comm->size));
  const Introduction self{comm->rank, comm->size, port};
  if (root < 0 || ::send(root, &self, sizeof self, MSG_NOSIGNAL) < 0 || !readAll(root, ports.data(), ports.size() * sizeof ports.front())) {
    comm->error = RemoteError;
    return;
  }
  ::close(root);
  {
    const std::lock_guard<std::mutex> lock(comm->forming);
    comm->sockets.assign(static_cast<std::size_t>(comm->size), -1);
  }
  for (int peer = 0; peer < comm->rank; ++peer) {
    const int fd = connectTo(ports[static_cast<std::size_t>(peer)]);
    const std::int32_t rank = comm->rank;
    [[maybe_unused]] const ssize_t sent = ::send(fd, &rank, sizeof rank, MSG_NOSIGNAL);
    keep(comm, comm->sockets[static_cast<std::size_t>(peer)], fd);
  }
  for (int above = comm->rank + 1; above < comm->size; ++above) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    std::int32_t rank = 0;
    if (fd < 0 || !readAll(fd, &rank, sizeof rank)) return;
    const int yes = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    keep(comm, comm->sockets[static_cast<std::size_t>(rank)], fd);
  }
  if (comm->state == InProgress) comm->state = Success;
}

inline void closeAll(FakeComm& comm) {
  const std::lock_guard<std::mutex> lock(comm.forming);
  for (int& fd : comm.sockets) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  if (comm.listener >= 0) ::close(comm.listener);
  comm.listener = -1;
}

// ---- bytes between ranks

inline bool isGivenUp(const FakeComm& comm) { return comm.aborted.load(); }

// Like a kernel that waits for a dead peer: returns only after an abort.
inline bool stuck(FakeComm& comm) {
  while (!isGivenUp(comm)) ::usleep(1000);
  return false;
}

struct Transfer {
  int peer;
  std::uint8_t* data;
  std::size_t bytes;
  std::size_t done = 0;
};

// Messages of one peer are sequential; those of different peers and directions are concurrent.
inline bool transfer(FakeComm& comm, std::vector<Transfer> sends, std::vector<Transfer> receives) {
  for (;;) {
    if (isGivenUp(comm)) return false;
    std::vector<pollfd> interests(static_cast<std::size_t>(comm.size));
    bool isDone = true;
    std::vector<Transfer*> sending(interests.size()), receiving(interests.size());
    const auto firstOfEach = [&](std::vector<Transfer>& all, std::vector<Transfer*>& current) {
      for (Transfer& one : all) {
        Transfer*& first = current[static_cast<std::size_t>(one.peer)];
        if (one.done < one.bytes && first == nullptr) first = &one;
      }
    };
    firstOfEach(sends, sending);
    firstOfEach(receives, receiving);
    for (std::size_t peer = 0; peer < interests.size(); ++peer) {
      interests[peer].fd = comm.sockets[peer];
      interests[peer].events = static_cast<short>((sending[peer] ? POLLOUT : 0) | (receiving[peer] ? POLLIN : 0));
      if (interests[peer].events == 0) interests[peer].fd = -1;
      if (interests[peer].events != 0) isDone = false;
    }
    if (isDone) return true;
    ::poll(interests.data(), interests.size(), 20);
    for (std::size_t peer = 0; peer < interests.size(); ++peer) {
      ssize_t moved = 1;
      if (Transfer* const one = receiving[peer]; one != nullptr && (interests[peer].revents & (POLLIN | POLLHUP | POLLERR))) {
        moved = ::recv(comm.sockets[peer], one->data + one->done, one->bytes - one->done, MSG_DONTWAIT);
        if (moved > 0) one->done += static_cast<std::size_t>(moved);
      }
      if (Transfer* const one = sending[peer]; one != nullptr && (interests[peer].revents & POLLOUT)) {
        const ssize_t sent = ::send(comm.sockets[peer], one->data + one->done, one->bytes - one->done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) one->done += static_cast<std::size_t>(sent);
        if (sent < 0 && errno != EAGAIN) moved = 0;
      }
      if (moved == 0 || (moved < 0 && errno != EAGAIN)) {
        comm.error = RemoteError;
        return stuck(comm);
      }
    }
  }
}

}  // namespace fake_nccl
