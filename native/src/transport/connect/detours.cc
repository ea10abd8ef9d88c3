#include "transport/connect/detours.h"

#include <algorithm>

#include "base/write_line.h"

namespace ringrun {

std::vector<int> Detours::relaysTo(int peer) const {
  const DelayTo timeThrough = [&](int relay) {
    return links_.timeThrough(topology_.hostOf(relay), topology_.hostOf(rank_), topology_.hostOf(peer));
  };
  std::vector<int> relays = relaysBetween(rank_, peer, topology_, endpoints_, links_.hosts > 0 ? timeThrough : delayTo_);
  const auto used = std::find(relays.begin(), relays.end(), relayTo(peer).value_or(-1));
  if (used != relays.end()) std::rotate(relays.begin(), used, used + 1);
  return relays;
}

std::string Detours::describeChange(const std::optional<int>& before, const std::optional<int>& now, int peer,
                                    const std::string& problem) const {
  const std::string rank = "ringrun: rank " + std::to_string(rank_);
  if (!now) return rank + " reaches " + nameOf(peer) + " directly again.\n";
  const std::string reason = problem.empty() ? "" : ": " + problem;
  const std::string through = ". Their data passes through " + nameOf(*now) + ", whose links carry it twice.";
  if (before) return rank + " no longer reaches " + nameOf(peer) + " through " + nameOf(*before) + reason + through + "\n";
  return rank + " cannot reach " + nameOf(peer) + reason + through + " Check the routes and firewalls between the two hosts.\n";
}

// Data of the pair that is under way on another way would arrive only if that way works again.
void Detours::follow(const std::optional<int>& relay, int peer, const std::string& problem) {
  auto& known = relayTo_[static_cast<std::size_t>(peer)];
  if (known == relay) return;
  // Each of the two ranks may find this way at the same time, and be told of it before it has finished.
  if (rank_ > peer) writeLine(describeChange(known, relay, peer, problem));
  known = relay;
  for (const auto& [key, stream] : streams()) {
    if (key.peer == peer && key.isDialled && stream->relay() != relay) stream->lose();
  }
}

void Detours::add(const Key& key, const std::shared_ptr<ByteStream>& stream) {
  if (!hasRelaysTo(key.peer)) return;
  stream->keepSent();
  if (stream->isResumable()) streams_[key] = stream;
}

std::shared_ptr<ByteStream> Detours::find(const Key& key) const {
  const auto found = streams_.find(key);
  return found == streams_.end() ? nullptr : found->second.lock();
}

std::vector<std::pair<Detours::Key, std::shared_ptr<ByteStream>>> Detours::streams() {
  std::vector<std::pair<Key, std::shared_ptr<ByteStream>>> used;
  for (auto one = streams_.begin(); one != streams_.end();) {
    if (auto stream = one->second.lock()) {
      used.emplace_back(one->first, std::move(stream));
      ++one;
    } else {
      one = streams_.erase(one);
    }
  }
  return used;
}

}  // namespace ringrun
