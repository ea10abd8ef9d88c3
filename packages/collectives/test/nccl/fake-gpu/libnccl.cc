// A fake NCCL (libnccl.so.2): see fake_gpu.h. Signatures and numbers are those of nccl.h. Every rank sends its
// data to all others over local sockets, and reduces in the order of the ranks. AVG multiplies by 1/ranks before it adds,
// as NCCL does. Sums of 16-bit numbers are kept in float32, where real NCCL also rounds in between, so results are equal
// only if nothing must be rounded.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "fake_gpu.h"

namespace {

enum Result { Success = 0, InternalError = 3, InvalidArgument = 4, InvalidUsage = 5, RemoteError = 6, InProgress = 7 };

using fake_gpu::faultOf;
using fake_gpu::hang;
using fake_gpu::isNumber;

struct UniqueId {
  char bytes[128];
};

struct Config {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

constexpr unsigned kConfigMagic = 0xcafebeef;

// Header of an operation's bytes: the values that must be equal on all ranks.
struct Header {
  std::uint64_t bytes;
  std::int32_t kind;
  std::int32_t dtype;
  std::int32_t op;
  std::int32_t root;
};

enum Kind { AllReduce = 1, Broadcast, Reduce, AllGather, ReduceScatter, Send, Receive };

struct Operation {
  Kind kind;
  const void* from;
  void* to;
  std::size_t count;
  int dtype;
  int op;
  int root;  // or the peer of a message
  FakeStream* stream;
};

}  // namespace

struct FakeComm {
  int rank = 0;
  int size = 0;
  UniqueId id{};
  // Guards the descriptors while one thread forms the communicator and another may abort it. Afterwards they do
  // not change.
  std::mutex forming;
  int listener = -1;
  std::vector<int> sockets;
  std::atomic<int> state{InProgress};
  std::atomic<int> error{Success};
  std::atomic<bool> aborted{false};
  std::atomic<bool> hangs{false};
  std::atomic<int> pending{0};
  std::atomic<int> launches{0};
};

namespace {

template <typename Pointer>
Pointer ofCuda(const char* name) {
  static void* const library = ::dlopen(std::getenv("RINGRUN_CUDA_LIBRARY"), RTLD_NOW);
  return reinterpret_cast<Pointer>(::dlsym(library, name));
}

void enqueue(FakeStream* stream, std::function<void()> task) {
  static const auto function = ofCuda<FakeEnqueue>("fakeGpuEnqueue");
  function(stream, &task);
}

std::uint8_t* hostAddress(const void* onDevice, std::size_t bytes) {
  static const auto function = ofCuda<FakeHostAddress>("fakeGpuHostAddress");
  return static_cast<std::uint8_t*>(function(onDevice, bytes));
}

// ---- bytes between ranks

bool isGivenUp(const FakeComm& comm) { return comm.aborted.load(); }

// Like a kernel that waits for a dead peer: returns only after an abort.
bool stuck(FakeComm& comm) {
  while (!isGivenUp(comm)) ::usleep(1000);
  return false;
}

struct Transfer {
  int peer;
  std::uint8_t* data;
  std::size_t bytes;
  std::size_t done = 0;
};

// Messages of one peer are sequential; those of different peers and directions are concurrent.
bool transfer(FakeComm& comm, std::vector<Transfer> sends, std::vector<Transfer> receives) {
  for (;;) {
    if (isGivenUp(comm)) return false;
    std::vector<pollfd> interests(static_cast<std::size_t>(comm.size));
    bool isDone = true;
    std::vector<Transfer*> sending(interests.size()), receiving(interests.size());
    const auto firstOfEach = [&](std::vector<Transfer>& all, std::vector<Transfer*>& current) {
      for (Transfer& one : all) {
        Transfer*& first = current[static_cast<std::size_t>(one.peer)];
        if (one.done < one.bytes && first == nullptr) first = &one;
      }
    };
    firstOfEach(sends, sending);
    firstOfEach(receives, receiving);
    for (std::size_t peer = 0; peer < interests.size(); ++peer) {
      interests[peer].fd = comm.sockets[peer];
      interests[peer].events = static_cast<short>((sending[peer] ? POLLOUT : 0) | (receiving[peer] ? POLLIN : 0));
      if (interests[peer].events == 0) interests[peer].fd = -1;
      if (interests[peer].events != 0) isDone = false;
    }
    if (isDone) return true;
    ::poll(interests.data(), interests.size(), 20);
    for (std::size_t peer = 0; peer < interests.size(); ++peer) {
      ssize_t moved = 1;
      if (Transfer* const one = receiving[peer]; one != nullptr && (interests[peer].revents & (POLLIN | POLLHUP | POLLERR))) {
        moved = ::recv(comm.sockets[peer], one->data + one->done, one->bytes - one->done, MSG_DONTWAIT);
        if (moved > 0) one->done += static_cast<std::size_t>(moved);
      }
      if (Transfer* const one = sending[peer]; one != nullptr && (interests[peer].revents & POLLOUT)) {
        const ssize_t sent = ::send(comm.sockets[peer], one->data + one->done, one->bytes - one->done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) one->done += static_cast<std::size_t>(sent);
        if (sent < 0 && errno != EAGAIN) moved = 0;
      }
      if (moved == 0 || (moved < 0 && errno != EAGAIN)) {
        comm.error = RemoteError;
        return stuck(comm);
      }
    }
  }
}

// ---- arithmetic

float widenHalf(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  std::uint32_t exponent = bits >> 10 & 0x1f;
  std::uint32_t mantissa = bits & 0x3ff;
  std::uint32_t wide;
  if (exponent == 0x1f) {
    wide = sign | 0x7f800000u | mantissa << 13;
  } else if (exponent != 0) {
    wide = sign | (exponent + 112) << 23 | mantissa << 13;
  } else if (mantissa == 0) {
    wide = sign;
  } else {
    exponent = 113;
    while ((mantissa & 0x400) == 0) mantissa <<= 1, --exponent;
    wide = sign | exponent << 23 | (mantissa & 0x3ff) << 13;
  }
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// Rounds to nearest, ties to even.
std::uint16_t narrowHalf(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    const float scaled = value * 16777216.0f;  // 2^24: the unit of subnormal numbers
    const float rounded = scaled < 0 ? -scaled : scaled;
    const auto whole = static_cast<std::uint32_t>(rounded);
    const float rest = rounded - static_cast<float>(whole);
    const std::uint32_t up = rest > 0.5f || (rest == 0.5f && (whole & 1)) ? 1 : 0;
    return static_cast<std::uint16_t>(sign | (whole + up));
  }
  const std::uint32_t shifted = magnitude - (112u << 23);
  return static_cast<std::uint16_t>(sign | (shifted + 0xfff + (shifted >> 13 & 1)) >> 13);
}

struct Half {
  std::uint16_t bits;
};
struct BHalf {
  std::uint16_t bits;
};

template <typename T>
struct Arithmetic {
  using Wide = T;
  static Wide widen(T value) { return value; }
  static T narrow(Wide value) { return value; }
};
template <>
struct Arithmetic<Half> {
  using Wide = float;
  static float widen(Half value) { return widenHalf(value.bits); }
  static Half narrow(float value) { return {narrowHalf(value)}; }
};
template <>
struct Arithmetic<BHalf> {
  using Wide = float;
  static float widen(BHalf value) {
    const std::uint32_t wide = static_cast<std::uint32_t>(value.bits) << 16;
    float result;
    std::memcpy(&result, &wide, sizeof result);
    return result;
  }
  static BHalf narrow(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (value != value) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};
    return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
  }
};

template <typename Wide>
Wide combine(Wide left, Wide right, int op) {
  switch (op) {
    case 1: return static_cast<Wide>(left * right);
    case 2: return right > left ? right : left;
    case 3: return right < left ? right : left;
    default: return static_cast<Wide>(left + right);
  }
}

template <typename T>
void reduceAs(const std::vector<const std::uint8_t*>& inputs, std::uint8_t* output, std::size_t count, int op) {
  using Of = Arithmetic<T>;
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    using Wide = typename Of::Wide;
    const Wide ranks = static_cast<Wide>(inputs.size());
    Wide value{};
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      T element;
      std::memcpy(&element, inputs[rank] + i * sizeof(T), sizeof(T));
      const Wide term = Of::widen(element);
      if constexpr (std::is_floating_point_v<Wide>) {
        if (op == 4) {
          value = rank == 0 ? term * (1 / ranks) : std::fma(term, 1 / ranks, value);
          continue;
        }
      }
      value = rank == 0 ? term : combine(value, term, op);
    }
    if (!std::is_floating_point_v<Wide> && op == 4) value = static_cast<Wide>(value / ranks);
    result[i] = Of::narrow(value);
  }
  std::memcpy(output, result.data(), count * sizeof(T));
}

void reduce(const std::vector<const std::uint8_t*>& inputs, std::uint8_t* output, std::size_t count, int dtype, int op) {
  switch (dtype) {
    // Unsigned types of the same size: sums and products have the same bits, and wrap around.
    case 0: return op == 2 || op == 3 ? reduceAs<std::int8_t>(inputs, output, count, op) : reduceAs<std::uint8_t>(inputs, output, count, op);
    case 1: return reduceAs<std::uint8_t>(inputs, output, count, op);
    case 2: return op == 2 || op == 3 ? reduceAs<std::int32_t>(inputs, output, count, op) : reduceAs<std::uint32_t>(inputs, output, count, op);
    case 3: return reduceAs<std::uint32_t>(inputs, output, count, op);
    case 4: return op == 2 || op == 3 ? reduceAs<std::int64_t>(inputs, output, count, op) : reduceAs<std::uint64_t>(inputs, output, count, op);
    case 5: return reduceAs<std::uint64_t>(inputs, output, count, op);
    case 6: return reduceAs<Half>(inputs, output, count, op);
    case 7: return reduceAs<float>(inputs, output, count, op);
    case 8: return reduceAs<double>(inputs, output, count, op);
    default: return reduceAs<BHalf>(inputs, output, count, op);
  }
}

std::size_t bytesOf(int dtype) {
  constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kBytes[dtype];
}

// ---- operations

Header headerOf(const Operation& operation, std::size_t bytes) {
  const int kind = operation.kind == Receive ? Send : operation.kind;
  const bool isMessage = operation.kind == Send || operation.kind == Receive;
  return {bytes, kind, operation.dtype, operation.op, isMessage ? 0 : operation.root};
}

// Exchanges messages with headers, and compares the received headers with the expected ones.
class Exchange {
 public:
  explicit Exchange(FakeComm& comm) : comm_(comm) {}

  void send(const Operation& operation, int peer, const std::uint8_t* data, std::size_t bytes) {
    headers_.push_back(std::make_unique<Header>(headerOf(operation, bytes)));
    sends_.push_back({peer, reinterpret_cast<std::uint8_t*>(headers_.back().get()), sizeof(Header)});
    sends_.push_back({peer, const_cast<std::uint8_t*>(data), bytes});
  }

  void receive(const Operation& operation, int peer, std::uint8_t* data, std::size_t bytes) {
    expected_.push_back(headerOf(operation, bytes));
    arrived_.push_back(std::make_unique<Header>());
    receives_.push_back({peer, reinterpret_cast<std::uint8_t*>(arrived_.back().get()), sizeof(Header)});
    receives_.push_back({peer, data, bytes});
  }

  bool run() {
    if (!transfer(comm_, std::move(sends_), std::move(receives_))) return false;
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      if (std::memcmp(&expected_[i], arrived_[i].get(), sizeof(Header)) == 0) continue;
      std::fprintf(stderr, "fake NCCL: rank %d got kind %d of %zu bytes, expected kind %d of %zu\n", comm_.rank, arrived_[i]->kind,
                   static_cast<std::size_t>(arrived_[i]->bytes), expected_[i].kind, static_cast<std::size_t>(expected_[i].bytes));
      comm_.error = InternalError;
      return stuck(comm_);
    }
    return true;
  }

 private:
  FakeComm& comm_;
  std::vector<std::unique_ptr<Header>> headers_;
  std::vector<std::unique_ptr<Header>> arrived_;
  std::vector<Header> expected_;
  std::vector<Transfer> sends_;
  std::vector<Transfer> receives_;
};

bool carryOutCollective(FakeComm& comm, const Operation& one) {
  const std::size_t element = bytesOf(one.dtype);
  const auto size = static_cast<std::size_t>(comm.size);
  const auto rank = static_cast<std::size_t>(comm.rank);
  const bool scatters = one.kind == ReduceScatter;
  const std::size_t bytes = one.count * element;
  const bool isRoot = comm.rank == one.root;
  const bool gives = one.kind != Broadcast || isRoot;
  const bool takes = (one.kind != Reduce || isRoot) && !(one.kind == Broadcast && isRoot);
  const std::uint8_t* const from = gives || one.kind != Broadcast ? hostAddress(one.from, scatters ? size * bytes : bytes) : nullptr;
  const bool writes = takes || one.kind == AllGather;
  std::uint8_t* const to = writes ? hostAddress(one.to, one.kind == AllGather ? size * bytes : bytes) : nullptr;
  if ((gives && from == nullptr) || (writes && to == nullptr)) {
    std::fprintf(stderr, "fake NCCL: rank %d was given memory that is not on a GPU\n", comm.rank);
    comm.error = InvalidArgument;
    return stuck(comm);
  }
  std::vector<std::vector<std::uint8_t>> parts(size);
  Exchange exchange(comm);
  for (int peer = 0; peer < comm.size; ++peer) {
    const auto index = static_cast<std::size_t>(peer);
    if (peer == comm.rank) {
      if (gives) parts[index].assign(from + (scatters ? rank * bytes : 0), from + (scatters ? rank * bytes : 0) + bytes);
      continue;
    }
    const bool sends = gives && (one.kind != Reduce || peer == one.root);
    const bool receives = takes && (one.kind != Broadcast || peer == one.root);
    if (sends) exchange.send(one, peer, from + (scatters ? index * bytes : 0), bytes);
    if (!receives) continue;
    parts[index].resize(bytes);
    exchange.receive(one, peer, parts[index].data(), bytes);
  }
  if (!exchange.run()) return false;
  if (one.kind == AllGather) {
    for (std::size_t i = 0; i < size; ++i) std::memcpy(to + i * bytes, parts[i].data(), bytes);
  } else if (one.kind == Broadcast) {
    if (takes) std::memcpy(to, parts[static_cast<std::size_t>(one.root)].data(), bytes);
    if (isRoot && one.to != one.from) std::memcpy(hostAddress(one.to, bytes), from, bytes);
  } else if (takes) {
    std::vector<const std::uint8_t*> inputs;
    for (const auto& part : parts) inputs.push_back(part.data());
    reduce(inputs, to, one.count, one.dtype, one.op);
  }
  return true;
}

bool carryOutMessages(FakeComm& comm, const std::vector<Operation>& operations) {
  Exchange exchange(comm);
  for (const Operation& one : operations) {
    const std::size_t bytes = one.count * bytesOf(one.dtype);
    if (one.kind == Send) exchange.send(one, one.root, hostAddress(one.from, bytes), bytes);
    if (one.kind == Receive) exchange.receive(one, one.root, hostAddress(one.to, bytes), bytes);
  }
  return exchange.run();
}

void carryOut(FakeComm& comm, const std::vector<Operation>& operations) {
  if (comm.hangs) stuck(comm);
  std::vector<Operation> messages;
  for (const Operation& one : operations) {
    if (isGivenUp(comm)) break;
    if (one.kind == Send || one.kind == Receive) messages.push_back(one);
    else if (!carryOutCollective(comm, one)) break;
  }
  if (!messages.empty() && !isGivenUp(comm)) carryOutMessages(comm, messages);
  --comm.pending;
}

// The first launches of a communicator continue in the background, as NCCL's do while it connects.
int launch(FakeComm* comm, std::vector<Operation> operations) {
  ++comm->pending;
  FakeStream* const stream = operations.front().stream;
  const auto start = [comm, stream, operations = std::move(operations)] {
    enqueue(stream, [comm, operations] { carryOut(*comm, operations); });
  };
  if (++comm->launches > 10) {
    start();
    return Success;
  }
  comm->state = InProgress;
  std::thread([comm, start] {
    ::usleep(2000);
    start();
    comm->state = Success;
  }).detach();
  return InProgress;
}

// ---- group calls

thread_local int groupDepth = 0;
thread_local std::vector<Operation> grouped;
thread_local FakeComm* groupedComm = nullptr;

int issue(const char* name, FakeComm* comm, const Operation& operation) {
  const std::string what = faultOf(name);
  if (isNumber(what)) return std::atoi(what.c_str());
  if (what == "hang") comm->hangs = true;
  if (what.rfind("async=", 0) == 0) comm->error = std::atoi(what.c_str() + 6);
  if (comm->state == InProgress && groupDepth == 0) return InvalidUsage;
  if (groupDepth == 0) return launch(comm, {operation});
  grouped.push_back(operation);
  groupedComm = comm;
  return Success;
}

// ---- bootstrap

int listenOnLoopback(int* port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  ::listen(fd, 128);
  socklen_t length = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  *port = ntohs(address.sin_port);
  return fd;
}

int connectTo(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    return -1;
  }
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return fd;
}

bool readAll(int fd, void* data, std::size_t bytes) {
  return ::recv(fd, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

struct Introduction {
  std::int32_t rank;
  std::int32_t size;
  std::int32_t port;
};

// Sends the addresses of all ranks to every rank, after all have connected.
void introduce(int listener) {
  std::vector<int> sockets;
  std::vector<std::int32_t> ports;
  std::size_t come = 0;
  do {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    Introduction one{};
    if (fd < 0 || !readAll(fd, &one, sizeof one)) break;
    ports.resize(static_cast<std::size_t>(one.size));
    ports[static_cast<std::size_t>(one.rank)] = one.port;
    sockets.push_back(fd);
    ++come;
  } while (come < ports.size());
  for (const int fd : sockets) {
    [[maybe_unused]] const ssize_t sent = ::send(fd, ports.data(), ports.size() * sizeof ports.front(), MSG_NOSIGNAL);
    ::close(fd);
  }
  ::close(listener);
}

// Stores a descriptor, unless the communicator was aborted meanwhile.
void keep(FakeComm* comm, int& place, int fd) {
  const std::lock_guard<std::mutex> lock(comm->forming);
  if (comm->aborted && fd >= 0) {
    ::close(fd);
    fd = -1;
  }
  place = fd;
}

void form(FakeComm* comm) {
  int rootPort = 0;
  std::memcpy(&rootPort, comm->id.bytes, sizeof rootPort);
  int port = 0;
  const int listener = listenOnLoopback(&port);
  keep(comm, comm->listener, listener);
  const int root = connectTo(rootPort);
  std::vector<std::int32_t> ports(static_cast<std::size_t>(comm->size));
  const Introduction self{comm->rank, comm->size, port};
  if (root < 0 || ::send(root, &self, sizeof self, MSG_NOSIGNAL) < 0 || !readAll(root, ports.data(), ports.size() * sizeof ports.front())) {
    comm->error = RemoteError;
    return;
  }
  ::close(root);
  {
    const std::lock_guard<std::mutex> lock(comm->forming);
    comm->sockets.assign(static_cast<std::size_t>(comm->size), -1);
  }
  for (int peer = 0; peer < comm->rank; ++peer) {
    const int fd = connectTo(ports[static_cast<std::size_t>(peer)]);
    const std::int32_t rank = comm->rank;
    [[maybe_unused]] const ssize_t sent = ::send(fd, &rank, sizeof rank, MSG_NOSIGNAL);
    keep(comm, comm->sockets[static_cast<std::size_t>(peer)], fd);
  }
  for (int above = comm->rank + 1; above < comm->size; ++above) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    std::int32_t rank = 0;
    if (fd < 0 || !readAll(fd, &rank, sizeof rank)) return;
    const int yes = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    keep(comm, comm->sockets[static_cast<std::size_t>(rank)], fd);
  }
  if (comm->state == InProgress) comm->state = Success;
}

void closeAll(FakeComm& comm) {
  const std::lock_guard<std::mutex> lock(comm.forming);
  for (int& fd : comm.sockets) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  if (comm.listener >= 0) ::close(comm.listener);
  comm.listener = -1;
}

int faultNumber(const char* name) {
  const std::string what = faultOf(name);
  if (what == "hang") hang();
  return isNumber(what) ? std::atoi(what.c_str()) : -1;
}

}  // namespace

// Communicators are never freed, because their threads may still run.

FAKE_GPU_EXPORT int ncclGetVersion(int* version) {
  const char* const value = std::getenv("RINGRUN_FAKE_GPU_NCCL_VERSION");
  *version = value == nullptr ? 22105 : std::atoi(value);
  return Success;
}

FAKE_GPU_EXPORT int ncclGetUniqueId(UniqueId* id) {
  if (const int number = faultNumber("ncclGetUniqueId"); number >= 0) return number;
  int port = 0;
  const int listener = listenOnLoopback(&port);
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->bytes, &port, sizeof port);
  std::thread([listener] { introduce(listener); }).detach();
  return Success;
}

FAKE_GPU_EXPORT int ncclCommInitRankConfig(FakeComm** comm, int size, UniqueId id, int rank, Config* config) {
  *comm = nullptr;
  const std::string what = faultOf("ncclCommInitRankConfig");
  if (isNumber(what)) return std::atoi(what.c_str());
  if (config == nullptr || config->magic != kConfigMagic || config->size < sizeof(Config) || config->blocking != 0) return InvalidArgument;
  if (rank < 0 || rank >= size) return InvalidArgument;
  auto* const made = new FakeComm;
  made->rank = rank;
  made->size = size;
  made->id = id;
  *comm = made;
  if (what.rfind("async=", 0) == 0) made->error = std::atoi(what.c_str() + 6);
  if (what != "hang") std::thread([made] { form(made); }).detach();
  return InProgress;
}

FAKE_GPU_EXPORT int ncclCommGetAsyncError(FakeComm* comm, int* error) {
  if (const int number = faultNumber("ncclCommGetAsyncError"); number >= 0) return number;
  *error = comm->error != Success ? comm->error.load() : comm->state.load();
  return Success;
}

FAKE_GPU_EXPORT int ncclCommFinalize(FakeComm* comm) {
  const std::string what = faultOf("ncclCommFinalize");
  if (isNumber(what)) return std::atoi(what.c_str());
  comm->state = InProgress;
  if (what == "hang") return InProgress;
  std::thread([comm] {
    while (comm->pending > 0) ::usleep(100);
    comm->state = Success;
  }).detach();
  return InProgress;
}

FAKE_GPU_EXPORT int ncclCommDestroy(FakeComm* comm) {
  if (const int number = faultNumber("ncclCommDestroy"); number >= 0) return number;
  comm->aborted = true;
  closeAll(*comm);
  return Success;
}

FAKE_GPU_EXPORT int ncclCommAbort(FakeComm* comm) {
  if (const int number = faultNumber("ncclCommAbort"); number >= 0) return number;
  comm->aborted = true;
  while (comm->pending > 0) ::usleep(100);
  closeAll(*comm);
  return Success;
}

FAKE_GPU_EXPORT const char* ncclGetErrorString(int result) {
  switch (result) {
    case Success: return "no error";
    case InternalError: return "internal error - please report this issue to the NCCL developers";
    case InvalidArgument: return "invalid argument";
    case InvalidUsage: return "invalid usage";
    case RemoteError: return "remote process exited or there was a network error";
    case InProgress: return "NCCL operation in progress";
    default: return "unhandled system error";
  }
}

FAKE_GPU_EXPORT const char* ncclGetLastError(FakeComm*) { return "error text of the fake NCCL"; }

FAKE_GPU_EXPORT int ncclAllReduce(const void* from, void* to, std::size_t count, int dtype, int op, FakeComm* comm, FakeStream* stream) {
  return issue("ncclAllReduce", comm, {AllReduce, from, to, count, dtype, op, 0, stream});
}

FAKE_GPU_EXPORT int ncclBroadcast(const void* from, void* to, std::size_t count, int dtype, int root, FakeComm* comm, FakeStream* stream) {
  return issue("ncclBroadcast", comm, {Broadcast, from, to, count, dtype, 0, root, stream});
}

FAKE_GPU_EXPORT int ncclReduce(const void* from, void* to, std::size_t count, int dtype, int op, int root, FakeComm* comm, FakeStream* stream) {
  return issue("ncclReduce", comm, {Reduce, from, to, count, dtype, op, root, stream});
}

FAKE_GPU_EXPORT int ncclAllGather(const void* from, void* to, std::size_t count, int dtype, FakeComm* comm, FakeStream* stream) {
  return issue("ncclAllGather", comm, {AllGather, from, to, count, dtype, 0, 0, stream});
}

FAKE_GPU_EXPORT int ncclReduceScatter(const void* from, void* to, std::size_t count, int dtype, int op, FakeComm* comm, FakeStream* stream) {
  return issue("ncclReduceScatter", comm, {ReduceScatter, from, to, count, dtype, op, 0, stream});
}

FAKE_GPU_EXPORT int ncclSend(const void* from, std::size_t count, int dtype, int peer, FakeComm* comm, FakeStream* stream) {
  return issue("ncclSend", comm, {Send, from, nullptr, count, dtype, 0, peer, stream});
}

FAKE_GPU_EXPORT int ncclRecv(void* to, std::size_t count, int dtype, int peer, FakeComm* comm, FakeStream* stream) {
  return issue("ncclRecv", comm, {Receive, nullptr, to, count, dtype, 0, peer, stream});
}

FAKE_GPU_EXPORT int ncclGroupStart() {
  if (const int number = faultNumber("ncclGroupStart"); number >= 0) return number;
  ++groupDepth;
  return Success;
}

FAKE_GPU_EXPORT int ncclGroupEnd() {
  const int number = faultNumber("ncclGroupEnd");
  if (groupDepth == 0) return InvalidUsage;
  if (--groupDepth > 0) return Success;
  std::vector<Operation> operations = std::move(grouped);
  grouped.clear();
  if (number >= 0) return number;
  return operations.empty() ? Success : launch(groupedComm, std::move(operations));
}
