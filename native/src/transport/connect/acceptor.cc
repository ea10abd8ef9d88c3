#include "transport/connect/acceptor.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/descriptors.h"
#include "base/failure.h"

namespace ringrun {

namespace {

// Time in which a connection must present its Hello. A rank sends it at once.
constexpr Milliseconds kStrangerTimeout{5000};

// A stranger this young is not closed to make room for others, because it may be a rank.
constexpr Milliseconds kStrangerGrace{1000};

// Strangers beside one connection of each purpose from every rank.
constexpr std::size_t kMaxStrangers = 64;
constexpr std::size_t kPurposes = 3;

// Descriptors that strangers leave to the rest of the process.
constexpr rlim_t kDescriptorsForOthers = 16;

bool isKnown(Purpose purpose) {
  return purpose == Purpose::Control || purpose == Purpose::Data || purpose == Purpose::PointToPoint;
}

bool isShortageOfThisMachine(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

bool wouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

// Strangers first: those that have left make room.
void Acceptor::advance() {
  identifyAll();
  isFull_ = false;
  for (const auto& listener : listeners_) acceptAllFrom(listener);
  identifyAll();
}

void Acceptor::acceptAllFrom(const Listener& listener) {
  for (;;) {
    if (isCrowded() && !makeRoom()) return;
    UniqueFd fd = acceptConnection(listener.fd.get());
    const int error = errno;
    if (fd) {
      // A connection that has broken already may refuse options.
      if (!failureOf([&] { prepareConnection(fd.get(), listener.socketType); })) {
        strangers_.push_back({std::move(fd), Clock::now(), {}});
      }
    } else if (wouldBlock(error)) {
      return;
    } else if (isShortageOfThisMachine(error)) {
      if (!makeRoom()) return;
    } else if (error == EBADF || error == EINVAL) {
      throwSystem("accept", error, "a connection from another rank");
    }
    // Any other error concerns one connection that broke before it was accepted.
  }
}

// The kernel assigns the lowest free number, so the highest one of a stranger tells how many descriptors are left.
bool Acceptor::isCrowded() const {
  if (strangers_.empty()) return false;
  if (strangers_.size() >= kMaxStrangers + kPurposes * static_cast<std::size_t>(size_)) return true;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  const auto isLower = [](const Stranger& one, const Stranger& other) { return one.fd.get() < other.fd.get(); };
  const int highest = std::max_element(strangers_.begin(), strangers_.end(), isLower)->fd.get();
  return static_cast<rlim_t>(highest) + kDescriptorsForOthers >= limit.rlim_cur;
}

// Closes the oldest stranger. Returns false if it may be a rank: then connections wait to be accepted.
bool Acceptor::makeRoom() {
  isFull_ = strangers_.empty() || Clock::now() - strangers_.front().since < kStrangerGrace;
  if (!isFull_) strangers_.pop_front();
  return !isFull_;
}

void Acceptor::identifyAll() {
  std::deque<Stranger> waiting;
  for (auto& stranger : strangers_) {
    switch (identify(stranger)) {
      case Progress::Waiting: waiting.push_back(std::move(stranger)); break;
      case Progress::Identified:
        identified_[{stranger.hello.purpose, static_cast<int>(stranger.hello.rank)}] = std::move(stranger.fd);
        break;
      case Progress::Refused: break;
    }
  }
  strangers_ = std::move(waiting);
}

Acceptor::Progress Acceptor::identify(Stranger& stranger) const {
  auto* const into = reinterpret_cast<std::uint8_t*>(&stranger.hello);
  while (stranger.read < sizeof stranger.hello) {
    const ssize_t got = ::recv(stranger.fd.get(), into + stranger.read, sizeof stranger.hello - stranger.read, MSG_DONTWAIT);
    if (got < 0 && wouldBlock(errno)) {
      return Clock::now() - stranger.since < kStrangerTimeout ? Progress::Waiting : Progress::Refused;
    }
    if (got <= 0) return Progress::Refused;
    stranger.read += static_cast<std::size_t>(got);
  }
  return belongs(stranger.hello) ? Progress::Identified : Progress::Refused;
}

bool Acceptor::belongs(const Hello& hello) const {
  return hello.magic == kHelloMagic && hello.version == kWireVersion && isKnown(hello.purpose) &&
         hello.rank < static_cast<std::uint32_t>(size_) && std::memcmp(hello.token, token_.data(), kTokenBytes) == 0;
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
  for (const auto& stranger : strangers_) interests.push_back({stranger.fd.get(), POLLIN, 0});
  if (isFull_) return;  // advance() is called often enough
  for (const auto& listener : listeners_) interests.push_back({listener.fd.get(), POLLIN, 0});
}

}  // namespace ringrun
