#include "transport/connect/tcp_state.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/descriptors.h"

namespace ringrun {

const int kTcpNoDelay = TCP_NODELAY;
#ifdef TCP_KEEPIDLE
const int kTcpKeepIdle = TCP_KEEPIDLE;
#else
const int kTcpKeepIdle = TCP_KEEPALIVE;  // of macOS
#endif
const int kTcpKeepInterval = TCP_KEEPINTVL;
const int kTcpKeepCount = TCP_KEEPCNT;
const int kTcpMostUnsent = TCP_NOTSENT_LOWAT;

#ifdef TCP_RXT_CONNDROPTIME
// Of macOS, in seconds: the time for which it retransmits.
int setUnansweredTimeout(int fd, Milliseconds silence) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(silence).count();
  return setSocketOption(fd, IPPROTO_TCP, TCP_RXT_CONNDROPTIME, std::max(static_cast<int>(seconds), 1));
}
#else
int setUnansweredTimeout(int, Milliseconds) { return 0; }
#endif

std::optional<std::size_t> unacknowledgedOfTcp(int) { return std::nullopt; }
std::optional<Delivery> deliveryOfTcp(int) { return std::nullopt; }
std::optional<TcpPath> pathOfTcp(int) { return std::nullopt; }

}  // namespace ringrun
