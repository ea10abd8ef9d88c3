#pragma once

#include <atomic>
#include <list>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "base/notifier.h"
#include "transport/connect/acceptor.h"
#include "transport/connect/endpoint.h"
#include "transport/relay/session.h"

namespace ringrun {

// Forwards connections between two ranks that cannot reach each other, on a thread of its own: other ranks need it while this
// one computes. It sees what the two ranks send, but neither has the key of an encrypted connection from here nor changes
// anything unnoticed: they prove who they are to each other.
class RelayService {
 public:
  // `acceptor`: of connections for Purpose::Relay. Throws Failure.
  RelayService(Acceptor acceptor, std::vector<Endpoint> endpoints, Milliseconds silentPeerTimeout);

  // Waits until all connections have ended, but only briefly: their ranks leave the group too.
  ~RelayService();
  RelayService(const RelayService&) = delete;
  RelayService& operator=(const RelayService&) = delete;

 private:
  void run();
  void serve();
  void acceptRequests();

  Acceptor acceptor_;
  std::vector<Endpoint> endpoints_;
  Milliseconds silentPeerTimeout_;
  std::list<RelaySession> sessions_;
  std::atomic<bool> isEnding_{false};
  Notifier ending_;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace ringrun
