#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "transport/connect/dial_handshake.h"
#include "transport/connect/directory.h"
#include "transport/wire.h"

namespace ringrun {

// A connection to rank `peer` through rank `relay`, being made. Never blocks.
class RelayRequest {
 public:
  // `directory` must outlive this object.
  RelayRequest(const Directory& directory, int relay, int peer);

  // Connected: the relay forwards all bytes. Refused: `peer` refuses connections. Failed: see problem().
  enum class Progress { Waiting, Connected, Refused, Failed };
  Progress advance();

  // After Connected.
  UniqueFd takeConnection() { return std::move(fd_); }

  const std::string& problem() const { return problem_; }

  void addInterest(std::vector<pollfd>& interests) const;

 private:
  enum class State { Connecting, AwaitingChallenge, AwaitingAnswer };

  Progress fail(std::string problem);
  Progress readAnswer();

  const Directory& directory_;
  int relay_;
  int peer_;
  std::string where_;
  Clock::time_point until_;
  State state_ = State::Connecting;
  UniqueFd fd_;
  std::optional<DialHandshake> handshake_;
  RelayAnswer answer_;
  std::size_t read_ = 0;
  std::string problem_;
};

// "through rank 1: no answer from 10.0.0.2:4712; through rank 3: …", by relay.
std::string describeRelayProblems(const std::map<int, std::string>& problems);

// Time in which a relay connects to another rank, or says that it cannot.
Milliseconds relayTimeout(Milliseconds silentPeerTimeout);

// True if a connection with this errno was refused: nothing listens there. ENOENT: the listener has deleted the file of its
// Unix socket.
bool isRefusal(int error);

}  // namespace ringrun
