#include "collectives/links/probe.h"

#include <algorithm>

#include "collectives/routes.h"

namespace ringrun {
namespace {

using Seconds = std::chrono::duration<double>;

// The minimum of several round trips is without the delays of busy processors.
constexpr int kMinPings = 2;
constexpr int kMaxPings = 8;
constexpr Seconds kPinging{0.06};

// Bytes that wait in the kernel of a sender: what it has accepted when the time is over must still be sent.
constexpr int kUnsentBytes = 32 * 1024;

// Lengths of the messages of a stream: short ones first, so that a slow link has enough of them to measure, and long ones
// later, so that a fast link is not limited by system calls.
constexpr std::size_t kLongest = 128 * 1024;
std::size_t lengthOf(std::uint32_t message) {
  if (message < 32) return 4 * 1024;
  return message < 64 ? std::size_t{32} * 1024 : kLongest;
}

// The first byte of a message: whether others follow.
constexpr std::uint8_t kMore = 0;
constexpr std::uint8_t kLast = 1;

}  // namespace

Probe::Probe(Messenger& messenger, const Call& call, const Team& leaders)
    : messenger_(messenger),
      call_(call),
      leaders_(leaders),
      own_(placeIn(leaders, messenger.rank())),
      sent_(leaders.size()),
      received_(leaders.size()) {
  for (std::size_t host = 0; host < leaders.size(); ++host) placeOf_[leaders[host]] = static_cast<int>(host);
}

Outgoing Probe::to(int host, const void* data, std::size_t bytes) {
  const auto place = static_cast<std::size_t>(host);
  return {leaders_[place], sent_[place]++, data, bytes};
}

Incoming Probe::from(int host, void* into, std::size_t bytes) {
  const auto place = static_cast<std::size_t>(host);
  return {leaders_[place], received_[place]++, into, bytes};
}

void Probe::open(const std::vector<int>& hosts) {
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  for (const int host : hosts) {
    sends.push_back(to(host, nullptr, 0));
    receives.push_back(from(host, nullptr, 0));
  }
  messenger_.transfer(call_, sends, receives);
}

struct Probe::Ping {
  std::uint8_t out = kMore;
  std::uint8_t in = kMore;
  int count = 0;  // of measured round trips
  Clock::time_point since;
  double shortest = 0;

  void returned() {
    const double seconds = Seconds(Clock::now() - since).count();
    shortest = count++ == 0 ? seconds : std::min(shortest, seconds);
  }
};

// The lower host of a pair sends, and the other one answers: it measures from its answer to the next message.
std::map<int, double> Probe::roundTrips(const std::vector<int>& hosts) {
  std::map<int, Ping> pings;
  const Clock::time_point begin = Clock::now();
  const auto send = [&](int host) {
    Ping& ping = pings[host];
    const bool isLast = ping.count + 1 >= kMaxPings || (ping.count + 1 >= kMinPings && Clock::now() - begin >= kPinging);
    ping.out = isLast ? kLast : kMore;
    ping.since = Clock::now();
    return Messenger::Messages{{to(host, &ping.out, 1)}, {from(host, &ping.in, 1)}};
  };
  const auto receivedPong = [&](int host) {
    Ping& ping = pings[host];
    ping.returned();
    return ping.out == kLast ? Messenger::Messages{} : send(host);
  };
  const auto receivedPing = [&](int host) {
    Ping& ping = pings[host];
    if (ping.since != Clock::time_point{}) ping.returned();
    ping.since = Clock::now();
    Messenger::Messages next{{to(host, &ping.out, 1)}, {}};
    if (ping.in == kMore) next.receives.push_back(from(host, &ping.in, 1));
    return next;
  };
  Messenger::Follow follow;
  follow.sent = [](const Outgoing&) { return Messenger::Messages{}; };
  follow.received = [&](const Incoming& message) {
    const int host = hostOf(message.from);
    return own_ < host ? receivedPong(host) : receivedPing(host);
  };
  Messenger::Messages first;
  for (const int host : hosts) {
    if (own_ < host) {
      const Messenger::Messages ping = send(host);
      first.sends.push_back(ping.sends.front());
      first.receives.push_back(ping.receives.front());
    } else {
      first.receives.push_back(from(host, &pings[host].in, 1));
    }
  }
  messenger_.transfer(call_, first, follow);
  for (const int host : hosts) roundTrips_[host] = pings[host].shortest;
  return roundTrips_;
}

// A stream in both directions. Each side begins when it has heard that the other one is ready.
struct Probe::Stream {
  bool hasSentReady = false;
  bool isReady = false;
  Clock::time_point end;
  std::uint32_t sentMessages = 0;
  std::uint32_t receivedMessages = 0;
  std::vector<std::uint8_t> into = std::vector<std::uint8_t>(kLongest);
  Arrivals arrivals;
};

std::map<int, double> Probe::rates(const std::vector<int>& hosts, double seconds) {
  std::vector<std::uint8_t> more(kLongest, kMore);
  std::vector<std::uint8_t> last(kLongest, kLast);
  std::map<int, Stream> streams;
  const auto sendNext = [&](int host, Stream& stream) {
    const bool isLast = Clock::now() >= stream.end;
    return to(host, isLast ? last.data() : more.data(), lengthOf(stream.sentMessages++));
  };
  const auto receiveNext = [&](int host, Stream& stream) {
    return from(host, stream.into.data(), lengthOf(stream.receivedMessages++));
  };
  Messenger::Follow follow;
  follow.sent = [&](const Outgoing& message) {
    const int host = hostOf(message.to);
    Stream& stream = streams[host];
    const bool wasReadiness = message.bytes == 0;
    if (wasReadiness) stream.hasSentReady = true;
    Messenger::Messages next;
    if (message.data != last.data() && stream.isReady) next.sends.push_back(sendNext(host, stream));
    return next;
  };
  follow.received = [&](const Incoming& message) {
    const int host = hostOf(message.from);
    Stream& stream = streams[host];
    Messenger::Messages next;
    if (message.bytes > 0) {
      stream.arrivals.add(Clock::now(), message.bytes);
      if (stream.into.front() == kMore) next.receives.push_back(receiveNext(host, stream));
      return next;
    }
    stream.isReady = true;
    stream.arrivals.begin(Clock::now());
    stream.end = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
    next.receives.push_back(receiveNext(host, stream));
    if (stream.hasSentReady) next.sends.push_back(sendNext(host, stream));
    return next;
  };
  Messenger::Messages ready;
  for (const int host : hosts) {
    messenger_.limitUnsent(leaders_[static_cast<std::size_t>(host)], kUnsentBytes);
    ready.sends.push_back(to(host, nullptr, 0));
    ready.receives.push_back(from(host, nullptr, 0));
  }
  messenger_.transfer(call_, ready, follow);
  std::map<int, double> rates;
  for (const int host : hosts) {
    messenger_.limitUnsent(leaders_[static_cast<std::size_t>(host)], 0);
    rates[host] = streams[host].arrivals.rate(roundTrips_[host], seconds);
  }
  return rates;
}

}  // namespace ringrun
