#include "transport/connect/acceptor.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/descriptors.h"
#include "base/failure.h"
#include "transport/connect/address.h"
#include "transport/connect/unix_socket.h"

namespace ringrun {

namespace {

// Time in which a connection must authenticate. A rank does so at once.
constexpr Milliseconds kStrangerTimeout{5000};

// A stranger newer than this is not closed to make room for others, because it may be a rank.
constexpr Milliseconds kStrangerGrace{1000};

// While no rank is awaited and strangers connect: the interval between checks, and the most connections that one check
// accepts. At 25 µs of system calls for each, they take at most 3% of the time of the thread that runs operations; more
// connections wait in the kernel's queue.
constexpr Milliseconds kStrangerPause{50};
constexpr std::size_t kMostAtOnce = 64;

// Maximum number of strangers, in addition to one connection of each purpose from every rank.
constexpr std::size_t kMaxStrangers = 64;
constexpr std::size_t kPurposes = 3;

// Number of descriptors that strangers must leave to the rest of the process.
constexpr rlim_t kDescriptorsForOthers = 16;

bool isKnown(Purpose purpose) {
  return purpose >= Purpose::Control && purpose <= Purpose::Relay;
}

bool isShortageOfThisMachine(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

std::optional<int> relayOf(const Continuation& continuation) {
  if (continuation.relay == 0) return std::nullopt;
  return static_cast<int>(continuation.relay) - 1;
}

}  // namespace

void Acceptor::advanceIfDue() {
  if (isDue()) advance(kMostAtOnce);
}

// Strangers first: closed ones make room.
void Acceptor::advance(std::size_t most) {
  hasMetStranger_ = false;
  identifyAll();
  isFull_ = false;
  rlimit limit{};
  descriptors_ = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
  for (const auto& listener : listeners_) acceptFrom(listener, most);
  if (refusals_.isDue()) refusals_.report(rank_);
  next_ = hasMetStranger_ || hasOldStranger() ? Clock::now() + kStrangerPause : Clock::time_point{};
}

// Most connections have sent their hello before they are accepted.
void Acceptor::acceptFrom(const Listener& listener, std::size_t& most) {
  for (; most > 0; --most) {
    if (isCrowded() && !makeRoom()) return;
    Stranger stranger;
    stranger.from.length = sizeof stranger.from.storage;
    stranger.fd = acceptConnection(listener.fd.get(), stranger.from.get(), &stranger.from.length);
    const int error = errno;
    if (stranger.fd) {
      stranger.socketType = listener.socketType;
      stranger.since = Clock::now();
      const std::string user = listener.socketType == SocketType::Unix ? foreignUser(stranger.fd.get()) : "";
      if (!user.empty()) {
        hasMetStranger_ = true;
        refusals_.add(Refusals::Reason::ForeignUser, user);
      } else if (!hasEnded(stranger)) {
        strangers_.push_back(std::move(stranger));
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

// The kernel assigns the lowest free number, so the highest number of a stranger shows how many descriptors are left.
bool Acceptor::isCrowded() const {
  if (strangers_.empty()) return false;
  if (strangers_.size() >= kMaxStrangers + kPurposes * static_cast<std::size_t>(size_)) return true;
  if (descriptors_ == RLIM_INFINITY) return false;
  const auto isLower = [](const Stranger& one, const Stranger& other) { return one.fd.get() < other.fd.get(); };
  const int highest = std::max_element(strangers_.begin(), strangers_.end(), isLower)->fd.get();
  return static_cast<rlim_t>(highest) + kDescriptorsForOthers >= descriptors_;
}

// Closes the oldest stranger. Returns false if it may be a rank: then connections wait to be accepted.
bool Acceptor::makeRoom() {
  isFull_ = strangers_.empty() || Clock::now() - strangers_.front().since < kStrangerGrace;
  if (!isFull_) {
    refuse(Refusals::Reason::Crowded, strangers_.front());
    strangers_.pop_front();
  }
  return !isFull_;
}

bool Acceptor::hasOldStranger() const {
  return !strangers_.empty() && Clock::now() - strangers_.front().since >= kStrangerPause;
}

void Acceptor::identifyAll() {
  std::deque<Stranger> waiting;
  for (auto& stranger : strangers_) {
    if (!hasEnded(stranger)) waiting.push_back(std::move(stranger));
  }
  strangers_ = std::move(waiting);
}

// Returns false while the connection must remain a stranger.
bool Acceptor::hasEnded(Stranger& stranger) {
  switch (identify(stranger)) {
    case Progress::Waiting: return false;
    case Progress::Identified: file(stranger); return true;
    case Progress::Refused: hasMetStranger_ = true; return true;
  }
  return true;
}

// The options of a connection cost more than its hello, so they are not set for strangers. A broken connection
// may reject them.
void Acceptor::file(Stranger& stranger) {
  const auto prepare = [&] { prepareConnection(stranger.fd.get(), stranger.socketType, silentPeerTimeout_); };
  if (failureOf(prepare)) return;
  if (stranger.hello.purpose == Purpose::Relay) {
    requests_.push_back({std::move(stranger.fd), stranger.hello.lane});
    return;
  }
  if (stranger.hello.magic == kContinuedMagic) {
    follow(stranger.continuation, static_cast<int>(stranger.hello.rank));
    if (stranger.continuation.kind == Continuation::Kind::Resumed) return resume(stranger);
    const Continuation own;
    [[maybe_unused]] const ssize_t sent = ::send(stranger.fd.get(), &own, sizeof own, MSG_DONTWAIT | kNoSignal);
  }
  identified_[{stranger.hello.purpose, static_cast<int>(stranger.hello.rank), stranger.hello.lane}] = linkOf(stranger);
}

// The connections that this rank has opened to the peer take the same way.
void Acceptor::follow(const Continuation& continuation, int peer) {
  if (detours_ && continuation.relay <= static_cast<std::uint32_t>(size_)) detours_->follow(relayOf(continuation), peer);
}

// The dialler may send everything that follows at once, so this side gives up the old connection first.
void Acceptor::resume(Stranger& stranger) {
  const auto peer = static_cast<int>(stranger.hello.rank);
  const auto stream = detours_ ? detours_->find({peer, stranger.hello.purpose, stranger.hello.lane, false}) : nullptr;
  Continuation own;
  own.kind = stream ? Continuation::Kind::Resumed : Continuation::Kind::Unknown;
  own.received = stream ? stream->lose() : 0;
  if (stream && stranger.hello.purpose == Purpose::Control) {
    const auto limit = [&] { endWhenUnanswered(stranger.fd.get(), stranger.socketType, silentPeerTimeout_); };
    if (failureOf(limit)) return;
  }
  [[maybe_unused]] const ssize_t sent = ::send(stranger.fd.get(), &own, sizeof own, MSG_DONTWAIT | kNoSignal);
  if (stream) stream->resume(std::move(stranger.fd), stranger.continuation.received, relayOf(stranger.continuation));
}

Protection Acceptor::protectionOf(const Stranger& stranger) const {
  return stranger.hello.purpose == Purpose::Relay ? Protection::Authenticated
                                                  : authentication_.protectionOf(stranger.socketType);
}

Acceptor::Progress Acceptor::identify(Stranger& stranger) {
  if (!stranger.isChallenged) {
    const Progress hello = read(stranger, &stranger.hello, sizeof stranger.hello);
    if (hello != Progress::Identified) return hello;
    if (!isForThisRank(stranger.hello)) return refuse(Refusals::Reason::Malformed, stranger);
    if (stranger.hello.protection != protectionOf(stranger)) {
      return refuse(Refusals::Reason::Unencrypted, stranger);
    }
    challenge(stranger);
  }
  if (!stranger.isProven) {
    const Progress proof = read(stranger, stranger.proof.data(), stranger.proof.size());
    if (proof != Progress::Identified) return proof;
    stranger.isProven = authentication_.isProof(stranger.proof, Side::Dialler, token_, stranger.hello, stranger.nonce);
    if (!stranger.isProven) return refuse(Refusals::Reason::Unproven, stranger);
    stranger.read = 0;
  }
  if (stranger.hello.magic == kHelloMagic) return Progress::Identified;
  return read(stranger, &stranger.continuation, sizeof stranger.continuation);
}

Acceptor::Progress Acceptor::refuse(Refusals::Reason reason, const Stranger& stranger) {
  hasMetStranger_ = true;
  refusals_.add(reason, stranger.socketType == SocketType::Tcp ? stranger.from.host() : "this host");
  return Progress::Refused;
}

// Identified: all bytes have arrived. A connection that the other side closes does not count as refused: ranks connect without a
// hello to check that a peer still listens, and may end at any time.
Acceptor::Progress Acceptor::read(Stranger& stranger, void* into, std::size_t bytes) {
  while (stranger.read < bytes) {
    const ssize_t got =
        ::recv(stranger.fd.get(), static_cast<std::uint8_t*>(into) + stranger.read, bytes - stranger.read, MSG_DONTWAIT);
    if (got < 0 && wouldBlock(errno)) {
      if (Clock::now() - stranger.since < kStrangerTimeout) return Progress::Waiting;
      return refuse(Refusals::Reason::Late, stranger);
    }
    if (got <= 0) return Progress::Refused;
    stranger.read += static_cast<std::size_t>(got);
  }
  return Progress::Identified;
}

bool Acceptor::isForThisRank(const Hello& hello) const {
  const bool isRelay = hello.purpose == Purpose::Relay;
  const std::uint32_t lanes = hello.purpose == Purpose::Data ? kMostStripeLanes : 0;
  return (hello.magic == kHelloMagic || (hello.magic == kContinuedMagic && !isRelay)) && hello.version == kWireVersion &&
         isKnown(hello.purpose) && isRelay == isForRelays_ &&
         hello.lane <= (isRelay ? static_cast<std::uint32_t>(size_) - 1 : lanes) &&
         hello.rank < static_cast<std::uint32_t>(size_) && hello.rank != static_cast<std::uint32_t>(rank_) &&
         hello.listener == static_cast<std::uint32_t>(rank_);
}

// A Challenge always fits into the buffer of a new connection.
void Acceptor::challenge(Stranger& stranger) const {
  Challenge challenge;
  challenge.nonce = stranger.nonce = randomNonce();
  challenge.proof = authentication_.proofOf(Side::Listener, token_, stranger.hello, stranger.nonce);
  [[maybe_unused]] const ssize_t sent = ::send(stranger.fd.get(), &challenge, sizeof challenge, MSG_DONTWAIT | kNoSignal);
  stranger.isChallenged = true;
  stranger.read = 0;
}

Link Acceptor::linkOf(Stranger& stranger) const {
  const auto stream = std::make_shared<ByteStream>(std::move(stranger.fd));
  stream->setRelay(relayOf(stranger.continuation));
  const auto peer = static_cast<int>(stranger.hello.rank);
  if (detours_) detours_->add({peer, stranger.hello.purpose, stranger.hello.lane, false}, stream);
  if (stranger.hello.protection == Protection::Authenticated) return Link(stream);
  const auto keyOf = [&](Side side) { return authentication_.keyOf(side, token_, stranger.hello, stranger.nonce); };
  return Link(stream, std::make_unique<RecordCipher>(keyOf(Side::Listener), keyOf(Side::Dialler)));
}

std::optional<Acceptor::Request> Acceptor::takeRequest() {
  if (requests_.empty()) return std::nullopt;
  std::optional<Request> request = std::move(requests_.front());
  requests_.pop_front();
  return request;
}

Link Acceptor::take(Purpose purpose, int rank, std::uint32_t lane) {
  const auto found = identified_.find({purpose, rank, lane});
  if (found == identified_.end()) return {};
  Link link = std::move(found->second);
  identified_.erase(found);
  return link;
}

bool Acceptor::takeAny(Purpose purpose, int& rank, Link& link) {
  for (auto one = identified_.begin(); one != identified_.end(); ++one) {
    if (std::get<Purpose>(one->first) != purpose) continue;
    rank = std::get<int>(one->first);
    link = std::move(one->second);
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
