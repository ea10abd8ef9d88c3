// Forwards packets between network namespaces over links with a delay, a rate and a queue, because many kernels have
// no netem. `emulator READY NAMESPACE…` creates a TUN device `eth0` in each namespace, writes an empty file READY, and
// forwards until its standard input ends. A packet for 10.0.0.N goes to the N-th namespace. Commands on standard input,
// one per line, with rates in bits per second (0: unlimited) and times in microseconds:
//
//   link FROM TO RATE DELAY QUEUE CUT     the path of packets from one host to another; CUT is 1 to drop all of them
//   uplink HOST RATE QUEUE                shared by all packets that a host sends
//   report                                prints {"bytes":[[…]],"dropped":[[…]]}: per link, delivered bytes, lost packets
//
// Every packet is counted as Ethernet frames of at most 1,514 bytes. With segmentation offload, one packet here is up to
// 64 KiB of TCP segments that travel together; they are counted as the frames that a network card would send.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <queue>
#include <string>
#include <vector>

namespace {

using Nanoseconds = std::int64_t;

/** virtio_net_hdr of <linux/virtio_net.h>, which does not compile as C++. */
struct OffloadHeader {
  std::uint8_t flags;
  std::uint8_t gso_type;
  std::uint16_t hdr_len;
  std::uint16_t gso_size;
  std::uint16_t csum_start;
  std::uint16_t csum_offset;
};

constexpr std::size_t kLargest = sizeof(OffloadHeader) + 65536;
constexpr std::int64_t kEthernetHeader = 14;

/** Packets due within this time are delivered with the current one, to wake up less often. */
constexpr Nanoseconds kTogether = 20'000;

/** Packets read from one device before due packets are delivered. */
constexpr int kBatch = 64;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "link emulator: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

Nanoseconds now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

struct Packet {
  Nanoseconds due;
  std::uint32_t bytes;
  std::uint32_t frameBytes;
  std::unique_ptr<std::uint8_t[]> data;
};

/** A first-in-first-out queue before a line of a fixed rate. */
struct Line {
  double bitsPerSecond = 0;
  Nanoseconds queue = 0;
  Nanoseconds freeAt = 0;

  bool isFull(Nanoseconds arrival) const { return bitsPerSecond > 0 && freeAt - arrival > queue; }

  /** When the last bit of a packet has left, and when the first one has. */
  Nanoseconds send(Nanoseconds arrival, std::int64_t bytes, Nanoseconds& first) {
    first = std::max(arrival, freeAt);
    if (bitsPerSecond <= 0) return freeAt = first;
    return freeAt = first + static_cast<Nanoseconds>(static_cast<double>(bytes) * 8e9 / bitsPerSecond);
  }
};

struct Link {
  Line line;
  Nanoseconds delay = 0;
  bool isCut = false;
  std::deque<Packet> packets;  // ascending `due`
  std::int64_t deliveredBytes = 0;
  std::int64_t dropped = 0;
};

/** Bytes of the Ethernet frames that carry a packet. */
std::int64_t frameBytes(const OffloadHeader& header, const std::uint8_t* packet, std::int64_t bytes) {
  if (header.gso_type == 0 || header.gso_size == 0) return bytes + kEthernetHeader;
  const std::int64_t ip = (packet[0] & 0x0f) * 4;
  const std::int64_t headers = ip + (packet[ip + 12] >> 4) * 4;
  const std::int64_t frames = (bytes - headers + header.gso_size - 1) / header.gso_size;
  return bytes + (frames - 1) * headers + frames * kEthernetHeader;
}

int openDevice(const std::string& name, int home) {
  const std::string path = "/var/run/netns/" + name;
  const int space = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0) fail("open " + path);
  if (setns(space, CLONE_NEWNET) != 0) fail("enter " + path);
  close(space);
  const int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device < 0) fail("open /dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  std::strcpy(request.ifr_name, "eth0");
  if (ioctl(device, TUNSETIFF, &request) != 0) fail("create a TUN device");
  if (ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0) fail("set offloads of a TUN device");
  if (setns(home, CLONE_NEWNET) != 0) fail("leave " + path);
  return device;
}

class Emulator {
 public:
  explicit Emulator(const std::vector<std::string>& namespaces)
      : hosts_(namespaces.size()), uplinks_(hosts_), links_(hosts_ * hosts_), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    const int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home < 0) fail("open /proc/self/ns/net");
    for (const std::string& name : namespaces) devices_.push_back(openDevice(name, home));
    for (std::size_t host = 0; host < hosts_; ++host) watch(devices_[host], host);
    watch(STDIN_FILENO, hosts_);
  }

  void run() {
    while (isOpen_) {
      epoll_event events[64];
      const int count = wait(events, 64);
      if (count < 0 && errno != EINTR) fail("epoll_wait");
      for (int i = 0; i < count; ++i) {
        if (events[i].data.u64 == hosts_) {
          readCommands();
        } else {
          readPackets(events[i].data.u64);
        }
      }
      deliver(now() + kTogether);
    }
  }

 private:
  Link& link(std::size_t from, std::size_t to) { return links_[from * hosts_ + to]; }

  void watch(int file, std::size_t id) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = id;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, file, &event) != 0) fail("epoll_ctl");
  }

  int wait(epoll_event* events, int most) {
    if (due_.empty()) return epoll_wait(epoll_, events, most, -1);
    const Nanoseconds left = std::max<Nanoseconds>(due_.top().first - now(), 0);
    const timespec time{left / 1'000'000'000, left % 1'000'000'000};
    return epoll_pwait2(epoll_, events, most, &time, nullptr);
  }

  void readPackets(std::size_t from) {
    for (int i = 0; i < kBatch; ++i) {
      const ssize_t bytes = read(devices_[from], buffer_, kLargest);
      // EBADFD or EIO while the interface is down.
      if (bytes < static_cast<ssize_t>(sizeof(OffloadHeader) + 20)) return;
      accept(from, static_cast<std::size_t>(bytes));
    }
  }

  /** Decides at its arrival when a packet will be delivered: lines are first in, first out. */
  void accept(std::size_t from, std::size_t bytes) {
    OffloadHeader header;
    std::memcpy(&header, buffer_, sizeof header);
    const std::uint8_t* const packet = buffer_ + sizeof header;
    if (packet[0] >> 4 != 4) return;
    std::uint32_t address = 0;
    std::memcpy(&address, packet + 16, sizeof address);
    const std::size_t to = (ntohl(address) & 0xff) - 1;
    if (ntohl(address) >> 8 != 0x0a0000 || to >= hosts_ || to == from) return;

    Link& path = link(from, to);
    Line& uplink = uplinks_[from];
    const Nanoseconds arrival = now();
    if (path.isCut || uplink.isFull(arrival)) {
      ++path.dropped;
      return;
    }
    const std::int64_t frames = frameBytes(header, packet, static_cast<std::int64_t>(bytes - sizeof header));
    // Bits continue on the link while later ones of the same packet are still on the uplink.
    Nanoseconds first = arrival;
    const Nanoseconds last = uplink.send(arrival, frames, first);
    if (path.line.isFull(first)) {
      ++path.dropped;
      return;
    }
    const Nanoseconds sent = std::max(path.line.send(first, frames, first), last);
    path.line.freeAt = sent;
    const Nanoseconds due = sent + path.delay;
    auto copy = std::unique_ptr<std::uint8_t[]>(new std::uint8_t[bytes]);
    std::memcpy(copy.get(), buffer_, bytes);
    if (path.packets.empty()) due_.push({due, from * hosts_ + to});
    path.packets.push_back(
        {due, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(frames), std::move(copy)});
  }

  void deliver(Nanoseconds until) {
    while (!due_.empty() && due_.top().first <= until) {
      const std::size_t index = due_.top().second;
      due_.pop();
      Link& path = links_[index];
      while (!path.packets.empty() && path.packets.front().due <= until) {
        const Packet& packet = path.packets.front();
        const ssize_t written = write(devices_[index % hosts_], packet.data.get(), packet.bytes);
        if (written < 0) {
          ++path.dropped;
        } else {
          path.deliveredBytes += packet.frameBytes;
        }
        path.packets.pop_front();
      }
      if (!path.packets.empty()) due_.push({path.packets.front().due, index});
    }
  }

  void readCommands() {
    char text[4096];
    const ssize_t bytes = read(STDIN_FILENO, text, sizeof text);
    if (bytes <= 0) {
      isOpen_ = false;
      return;
    }
    commands_.append(text, static_cast<std::size_t>(bytes));
    for (std::size_t end; (end = commands_.find('\n')) != std::string::npos;) {
      obey(commands_.substr(0, end));
      commands_.erase(0, end + 1);
    }
  }

  void obey(const std::string& command) {
    std::size_t from = 0, to = 0;
    double rate = 0;
    long long delay = 0, queue = 0;
    int isCut = 0;
    if (std::sscanf(command.c_str(), "link %zu %zu %lf %lld %lld %d", &from, &to, &rate, &delay, &queue, &isCut) == 6) {
      change(link(from, to), rate, delay * 1000, queue * 1000, isCut != 0);
    } else if (std::sscanf(command.c_str(), "uplink %zu %lf %lld", &from, &rate, &queue) == 3) {
      uplinks_[from] = {rate, queue * 1000, now()};
    } else if (command == "report") {
      report();
    } else {
      std::fprintf(stderr, "link emulator: unknown command '%s'\n", command.c_str());
      std::exit(1);
    }
  }

  /** Packets under way keep the rate at which they were queued, get the new delay, and are lost if the link is cut. */
  void change(Link& path, double rate, Nanoseconds delay, Nanoseconds queue, bool isCut) {
    for (Packet& packet : path.packets) packet.due += delay - path.delay;
    if (isCut) {
      path.dropped += static_cast<std::int64_t>(path.packets.size());
      path.packets.clear();
      path.line.freeAt = 0;
    }
    path.line.bitsPerSecond = rate;
    path.line.queue = queue;
    path.delay = delay;
    path.isCut = isCut;
    due_ = {};
    for (std::size_t index = 0; index < links_.size(); ++index) {
      if (!links_[index].packets.empty()) due_.push({links_[index].packets.front().due, index});
    }
  }

  void report() {
    const auto matrix = [this](const char* name, std::int64_t Link::*value) {
      std::printf("\"%s\":[", name);
      for (std::size_t i = 0; i < links_.size(); ++i) {
        const char* const before = i % hosts_ != 0 ? "," : i == 0 ? "[" : ",[";
        std::printf("%s%lld%s", before, static_cast<long long>(links_[i].*value), i % hosts_ == hosts_ - 1 ? "]" : "");
      }
      std::printf("]");
    };
    std::printf("{");
    matrix("bytes", &Link::deliveredBytes);
    std::printf(",");
    matrix("dropped", &Link::dropped);
    std::printf("}\n");
    std::fflush(stdout);
  }

  using Due = std::pair<Nanoseconds, std::size_t>;

  std::size_t hosts_;
  std::vector<int> devices_;
  std::vector<Line> uplinks_;
  std::vector<Link> links_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;  // the first packet of each link that has packets
  int epoll_;
  bool isOpen_ = true;
  std::string commands_;
  std::uint8_t buffer_[kLargest];
};

}  // namespace

int main(int count, char** arguments) {
  prctl(PR_SET_TIMERSLACK, 1UL);
  setpriority(PRIO_PROCESS, 0, -20);
  const std::vector<std::string> namespaces(arguments + 2, arguments + count);
  const auto emulator = std::make_unique<Emulator>(namespaces);
  const int ready = open(arguments[1], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (ready < 0) fail(std::string("create ") + arguments[1]);
  close(ready);
  emulator->run();
}
