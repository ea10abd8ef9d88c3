// A fake NCCL (libnccl.so.2): see fake_gpu.h. Signatures and numbers are those of nccl.h. Every rank sends its
// data to all others over local sockets (nccl_communicator.h), and reduces in the order of the ranks (nccl_arithmetic.h).
// AVG multiplies by 1/ranks before it adds, as NCCL does. Sums of 16-bit numbers are kept in float32, where real NCCL also
// rounds in between, so results are equal only if nothing must be rounded.
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "driver_functions.h"
#include "fake_gpu.h"
#include "nccl/nccl_arithmetic.h"
#include "nccl/nccl_communicator.h"

namespace fake_nccl {
namespace {

using fake_gpu::faultOf;
using fake_gpu::hang;
using fake_gpu::isNumber;

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
  // Position among the recorded operations of the communicator; 0 if the operation is not part of a graph. All ranks must record it,
  // and repeat the graphs that they recorded together.
  std::uint64_t recorded;
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
  std::uint64_t recorded = 0;
};

using fake_gpu::enqueue;
using fake_gpu::hostAddress;
using fake_gpu::isCapturing;

// ---- operations

Header headerOf(const Operation& operation, std::size_t bytes) {
  const int kind = operation.kind == Receive ? Send : operation.kind;
  const bool isMessage = operation.kind == Send || operation.kind == Receive;
  return {bytes, kind, operation.dtype, operation.op, isMessage ? 0 : operation.root, operation.recorded};
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
  FakeStream* const stream = operations.front().stream;
  if (isCapturing(stream)) {
    for (Operation& one : operations) one.recorded = ++comm->recordedOperations;
    ++comm->graphReferences;
    const std::shared_ptr<FakeComm> reference(comm, [](FakeComm* referenced) { --referenced->graphReferences; });
    const auto recorded = [comm, reference, operations = std::move(operations)] {
      ++comm->pending;
      carryOut(*comm, operations);
    };
    return enqueue(stream, recorded) == 0 ? Success : InvalidUsage;
  }
  ++comm->pending;
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
  // As NCCL, it waits for the end of all graphs that contain its operations.
  while (comm->graphReferences > 0) ::usleep(100);
  comm->aborted = true;
  closeAll(*comm);
  return Success;
}

FAKE_GPU_EXPORT int ncclCommAbort(FakeComm* comm) {
  if (const int number = faultNumber("ncclCommAbort"); number >= 0) return number;
  comm->aborted = true;
  while (comm->pending > 0 || comm->graphReferences > 0) ::usleep(100);
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

}  // namespace fake_nccl
