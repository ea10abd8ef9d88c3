#include "transport/connect/tcp_state.h"

#include <linux/sockios.h>
#include <linux/tcp.h>  // its tcp_info has tcpi_bytes_acked and tcpi_notsent_bytes
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/descriptors.h"

namespace ringrun {

const int kTcpNoDelay = TCP_NODELAY;
const int kTcpKeepIdle = TCP_KEEPIDLE;
const int kTcpKeepInterval = TCP_KEEPINTVL;
const int kTcpKeepCount = TCP_KEEPCNT;
const int kTcpMostUnsent = TCP_NOTSENT_LOWAT;

int setUnansweredTimeout(int fd, Milliseconds silence) {
  return setSocketOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence.count()));
}

std::optional<std::size_t> unacknowledgedOfTcp(int fd) {
  int bytes = 0;
  if (::ioctl(fd, SIOCOUTQ, &bytes) != 0) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

std::optional<Delivery> deliveryOfTcp(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  if (length < offsetof(tcp_info, tcpi_notsent_bytes) + sizeof info.tcpi_notsent_bytes) return std::nullopt;
  // A segment that a firewall on this host dropped counts as not sent.
  return Delivery{info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0, info.tcpi_bytes_acked,
                  Milliseconds{std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv)}};
}

std::optional<TcpPath> pathOfTcp(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  if (length < offsetof(tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt) return std::nullopt;
  if (info.tcpi_min_rtt == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;  // no sample
  const bool hasRate = length >= offsetof(tcp_info, tcpi_delivery_rate) + sizeof info.tcpi_delivery_rate;
  return TcpPath{std::chrono::microseconds{info.tcpi_rtt}, std::chrono::microseconds{info.tcpi_min_rtt}, info.tcpi_segs_out,
                 info.tcpi_total_retrans, hasRate ? info.tcpi_delivery_rate : 0};
}

}  // namespace ringrun
