#include "transport/control/reconnector.h"

#include <algorithm>
#include <utility>

namespace ringrun {
namespace {

// Interval between looks for streams that have lost their connection.
constexpr Milliseconds kLookInterval{100};

// After all relays have failed.
constexpr Milliseconds kProbePause{500};

}  // namespace

void RelayedProbe::advance() {
  const auto now = Clock::now();
  const std::vector<int> relays = directory_.detours().relaysTo(peer_);
  if (relays.empty() || now < next_) return;
  const int relay = relays[place_ % relays.size()];
  if (!request_) request_.emplace(directory_, relay, peer_);
  const auto progress = request_->advance();
  if (progress == RelayRequest::Progress::Waiting) return;
  const std::string problem = request_->problem();
  request_.reset();
  if (progress == RelayRequest::Progress::Refused) throw Failure(FailureCode::PeerDied, {{peer_, {}}}, problem);
  if (progress == RelayRequest::Progress::Connected) {
    acceptedAt_ = now;
    next_ = now + relayTimeout(directory_.silentPeerTimeout());
    return;
  }
  problems_[relay] = problem;
  if (++place_ % relays.size() == 0) next_ = now + kProbePause;
}

bool RelayedProbe::isAccepted() const {
  return acceptedAt_ && Clock::now() - *acceptedAt_ < directory_.silentPeerTimeout();
}

void RelayedProbe::addInterest(std::vector<pollfd>& interests) const {
  if (request_) request_->addInterest(interests);
}

// The higher rank connects.
Detours::Key Reconnector::controlOf(int peer) const { return {peer, Purpose::Control, 0, peer < directory_.rank()}; }

void Reconnector::dial(const Detours::Key& key, const std::shared_ptr<ByteStream>& stream) {
  dialled_.try_emplace(key, directory_, key.peer, key.purpose, key.lane, stream);
}

void Reconnector::look() {
  for (const auto& [key, stream] : directory_.detours().streams()) {
    if (ended_.count(key.peer) != 0) continue;
    if (stream->isLost() && key.isDialled) dial(key, stream);
    const bool isKnown = std::find(behind_.begin(), behind_.end(), stream) != behind_.end();
    if (!stream->isLost() && stream->isBehind() && !isKnown) behind_.push_back(stream);
  }
}

std::vector<Reconnector::Ended> Reconnector::advance() {
  std::vector<Ended> found;
  const auto now = Clock::now();
  if (now >= nextLook_) {
    look();
    nextLook_ = now + kLookInterval;
  }
  for (auto one = dialled_.begin(); one != dialled_.end();) {
    bool isResumed = false;
    const auto failure = failureOf([&] { isResumed = one->second.advanceResuming(); });
    if (failure) found.push_back({one->first.peer, *failure});
    one = failure || isResumed ? dialled_.erase(one) : std::next(one);
  }
  for (auto& [peer, probe] : probes_) {
    const auto failure = failureOf([&one = probe] { one.advance(); });
    if (failure) found.push_back({peer, *failure});
  }
  const auto isEnough = [](const auto& stream) { return stream->isLost() || stream->sendKept(); };
  behind_.erase(std::remove_if(behind_.begin(), behind_.end(), isEnough), behind_.end());
  return found;
}

void Reconnector::addInterests(std::vector<pollfd>& interests) const {
  for (const auto& [_, one] : dialled_) one.addInterest(interests);
  for (const auto& [_, probe] : probes_) probe.addInterest(interests);
  for (const auto& stream : behind_) interests.push_back({stream->fd(), POLLOUT, 0});
}

void Reconnector::suspect(int peer) {
  const Detours::Key key = controlOf(peer);
  if (ended_.count(peer) != 0) return;
  if (!key.isDialled) {
    probes_.try_emplace(peer, directory_, peer);
  } else if (const auto stream = directory_.detours().find(key)) {
    dial(key, stream);
  }
}

void Reconnector::trust(int peer) {
  probes_.erase(peer);
  const auto one = dialled_.find(controlOf(peer));
  if (one == dialled_.end()) return;
  const auto stream = directory_.detours().find(one->first);
  if (!stream || !stream->isLost()) dialled_.erase(one);
}

void Reconnector::end(int peer) {
  if (!ended_.insert(peer).second) return;
  probes_.erase(peer);
  for (auto one = dialled_.begin(); one != dialled_.end();) {
    one = one->first.peer == peer ? dialled_.erase(one) : std::next(one);
  }
}

bool Reconnector::isAccepted(int peer) const {
  const auto one = dialled_.find(controlOf(peer));
  const auto probe = probes_.find(peer);
  return (one != dialled_.end() && one->second.isAccepted()) || (probe != probes_.end() && probe->second.isAccepted());
}

std::string Reconnector::problemOf(int peer) const {
  const auto one = dialled_.find(controlOf(peer));
  if (one != dialled_.end()) return one->second.lastProblem();
  const auto probe = probes_.find(peer);
  return probe == probes_.end() ? "" : describeRelayProblems(probe->second.problems());
}

}  // namespace ringrun
