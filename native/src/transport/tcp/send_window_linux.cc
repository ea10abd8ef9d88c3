#include "transport/tcp/send_window.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace ringrun {
namespace {

// The kernel closes the window of an idle connection again, after 200 ms at least, but only when it sends the next segment:
// until then it reports the old window.
constexpr std::chrono::milliseconds kIdle{100};
constexpr std::uint32_t kInitialSegments = 10;

}  // namespace

// A segment at least: poll() would report POLLOUT at once for a connection whose window is full.
std::size_t sendableBytes(int fd, std::size_t most) noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return most;
  if (length < offsetof(tcp_info, tcpi_notsent_bytes) + sizeof info.tcpi_notsent_bytes) return most;
  if (info.tcpi_notsent_bytes > 0) return 0;
  const std::uint32_t inFlight = info.tcpi_unacked - std::min(info.tcpi_unacked, info.tcpi_sacked + info.tcpi_lost);
  std::uint32_t segments = info.tcpi_snd_cwnd > inFlight ? info.tcpi_snd_cwnd - inFlight : 1;
  if (info.tcpi_last_data_sent >= kIdle.count()) segments = std::min(segments, kInitialSegments);
  return std::min<std::size_t>(most, static_cast<std::size_t>(segments) * info.tcpi_snd_mss);
}

}  // namespace ringrun
