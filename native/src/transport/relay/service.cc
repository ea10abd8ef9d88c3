#include "transport/relay/service.h"

#include <poll.h>

#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/failure.h"
#include "base/thread_scheduling.h"
#include "base/write_line.h"

namespace ringrun {
namespace {

// Time for which the last bytes of other ranks are forwarded after this one has left the group.
constexpr Milliseconds kLinger{2000};

constexpr Milliseconds kInterval{100};    // while there is anything to watch
constexpr Milliseconds kIdle{60'000};

}  // namespace

RelayService::RelayService(Acceptor acceptor, std::vector<Endpoint> endpoints, Milliseconds silentPeerTimeout)
    : acceptor_(std::move(acceptor)), endpoints_(std::move(endpoints)), silentPeerTimeout_(silentPeerTimeout) {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    throwSystem("pthread_create", error.code().value(), "the thread that forwards connections");
  }
}

RelayService::~RelayService() {
  isEnding_ = true;
  ending_.notify();
  thread_.join();
}

void RelayService::run() {
  nameThread("ringrun-relay");
  const std::optional<Failure> failure = failureOf([this] { serve(); });
  if (failure) writeLine("ringrun: this rank no longer forwards connections of other ranks: " + failure->detail + "\n");
  sessions_.clear();
}

void RelayService::serve() {
  std::optional<Clock::time_point> until;
  std::vector<pollfd> interests;
  for (;;) {
    if (isEnding_ && !until) until = Clock::now() + kLinger;
    if (until && (sessions_.empty() || Clock::now() >= *until)) return;
    interests.clear();
    if (!until) interests.push_back({ending_.fd(), POLLIN, 0});
    acceptor_.addInterests(interests);
    for (const auto& session : sessions_) session.addInterests(interests);
    const bool isWatching = !sessions_.empty() || acceptor_.hasStrangers() || until;
    ::poll(interests.data(), static_cast<nfds_t>(interests.size()), static_cast<int>((isWatching ? kInterval : kIdle).count()));
    acceptRequests();
    sessions_.remove_if([](RelaySession& session) { return !session.advance(); });
  }
}

void RelayService::acceptRequests() {
  acceptor_.advance();
  while (auto request = acceptor_.takeRequest()) {
    sessions_.emplace_back(std::move(request->fd), endpoints_[request->target], silentPeerTimeout_);
  }
}

}  // namespace ringrun
