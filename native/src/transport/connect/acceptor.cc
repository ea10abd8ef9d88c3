#include "transport/connect/acceptor.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/failure.h"

namespace ringrun {

void Acceptor::advance() {
  for (const auto& listener : listeners_) acceptAllFrom(listener);
  identifyAll();
}

void Acceptor::acceptAllFrom(const Listener& listener) {
  for (;;) {
    UniqueFd fd(::accept(listener.fd.get(), nullptr, nullptr));
    if (fd) {
      prepareConnection(fd.get(), listener.socketType);
      unidentified_.push_back(std::move(fd));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS || errno == EBADF || errno == EINVAL) {
      throwSystem("accept", errno, "a connection from another rank");
    }
    // Any other error concerns one connection that broke before it was accepted.
  }
}

void Acceptor::identifyAll() {
  std::vector<UniqueFd> incomplete;
  for (auto& fd : unidentified_) {
    Hello hello;
    const ssize_t got = ::recv(fd.get(), &hello, sizeof hello, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      incomplete.push_back(std::move(fd));
    } else if (got > 0 && got < static_cast<ssize_t>(sizeof hello)) {
      incomplete.push_back(std::move(fd));
    } else if (got == static_cast<ssize_t>(sizeof hello)) {
      const bool belongs = hello.magic == kHelloMagic && hello.version == kWireVersion &&
                           hello.rank < static_cast<std::uint32_t>(size_) &&
                           std::memcmp(hello.token, token_.data(), kTokenBytes) == 0;
      if (!belongs) continue;
      ::recv(fd.get(), &hello, sizeof hello, MSG_DONTWAIT);
      identified_[{hello.purpose, static_cast<int>(hello.rank)}] = std::move(fd);
    }
  }
  unidentified_ = std::move(incomplete);
}

UniqueFd Acceptor::take(Purpose purpose, int rank) {
  const auto found = identified_.find({purpose, rank});
  if (found == identified_.end()) return {};
  UniqueFd fd = std::move(found->second);
  identified_.erase(found);
  return fd;
}

bool Acceptor::takeAny(Purpose purpose, int& rank, UniqueFd& fd) {
  for (auto one = identified_.begin(); one != identified_.end(); ++one) {
    if (one->first.first != purpose) continue;
    rank = one->first.second;
    fd = std::move(one->second);
    identified_.erase(one);
    return true;
  }
  return false;
}

void Acceptor::addInterests(std::vector<pollfd>& interests) const {
  for (const auto& listener : listeners_) interests.push_back({listener.fd.get(), POLLIN, 0});
  for (const auto& fd : unidentified_) interests.push_back({fd.get(), POLLIN, 0});
}

}  // namespace ringrun
