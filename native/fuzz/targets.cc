// libFuzzer targets for everything that the addon reads from other processes. RINGRUN_FUZZ_TARGET selects one:
//
//   abort          the body of an ABORT message
//   lengths        lengths of arrays from all ranks
//   stranger       a connection before it is identified
//   control        messages on the control connection of a rank
//   data           messages on the data connection of a rank
//   pointToPoint   messages on the point-to-point connection of a rank
//
// The last three run the code of a group of two ranks over real sockets: rank 0 reads, and rank 1 is a thread that
// connects like a rank and then writes the input. With RINGRUN_FUZZ_SEEDS=FOLDER, first writes valid messages there.
#include <dlfcn.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/wait_reports.h"
#include "collectives/lengths.h"
#include "point_to_point/point_to_point.h"
#include "transport/connect/address.h"
#include "transport/connect/dial.h"
#include "transport/connect/listener.h"
#include "transport/connections.h"
#include "transport/control/messages.h"

using namespace ringrun;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr double kTimeoutMs = 10'000;  // longer than any input needs: libFuzzer reports a target that hangs
constexpr std::size_t kElements = 64;

Fingerprint fingerprintOf(Op op, std::uint64_t count) {
  Fingerprint fingerprint;
  fingerprint.sequence = op == Op::Connect || op == Op::Receive ? 0 : 1;
  fingerprint.op = op;
  fingerprint.dtype = op == Op::Connect ? DType::None : DType::Float32;
  fingerprint.reduceOp = op == Op::AllReduce ? ReduceOp::Sum : ReduceOp::None;
  fingerprint.count = count;
  return fingerprint;
}

struct Calls {
  std::atomic<bool> cancelled{false};
  WaitReports reports;
  // The deadline is that of the last call.
  Call of(const Fingerprint& fingerprint) {
    deadline = Deadline::after(kTimeoutMs);
    return {fingerprint, deadline, cancelled, reports};
  }

  Deadline deadline = Deadline::after(kTimeoutMs);
};

// The addon finds OpenSSL in Node's executable, which does not exist here.
Authentication authentication() {
  static void* const libcrypto = ::dlopen("libcrypto.so.3", RTLD_NOW | RTLD_GLOBAL);
  static_cast<void>(libcrypto);
  return Authentication(Key{}, false);
}

Directory directoryOf(int rank, const Listener& listener, const Token& token) {
  Endpoint endpoint;
  endpoint.socketName = listener.socketName;
  endpoint.address = "127.0.0.1";
  endpoint.port = listener.port;
  endpoint.token = token;
  return Directory(rank, Topology({0, 0}), {endpoint, endpoint}, authentication());
}

void sendAll(int fd, const std::uint8_t* data, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(fd, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return;  // the other side has refused an earlier part
    if (sent < 0) {
      pollfd writable{fd, POLLOUT, 0};
      if (::poll(&writable, 1, 1000) <= 0) return;
      continue;
    }
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

// Connects to rank 0, which answers when it waits.
Link dial(const Directory& directory, Purpose purpose, const Call& call) {
  Dialling dialling(directory, 0, purpose);
  for (;;) {
    if (Link link = dialling.advance(call)) return link;
    throwIfTimedOutOrCancelled(call, 0, "it did not answer");
    ::poll(nullptr, 0, 1);
  }
}

// Runs `read` as rank 0, while rank 1 writes the input on its connection for `purpose` and closes everything.
void withRankThatWrites(Purpose purpose, const std::uint8_t* data, std::size_t size, const std::function<void(Connections&, Calls&)>& read) {
  Listener listener = Listener::unixSocket();
  const Token token = randomToken();
  const Directory other = directoryOf(1, listener, token);
  const Directory own = directoryOf(0, listener, token);
  std::vector<Listener> listeners;
  listeners.push_back(std::move(listener));

  std::thread writer([&] {
    Calls calls;
    const Call call = calls.of(fingerprintOf(Op::Connect, 0));
    failureOf([&] {
      const Link control = dial(other, Purpose::Control, call);
      const Link more = purpose == Purpose::Control ? Link() : dial(other, purpose, call);
      sendAll((more ? more : control).fd(), data, size);
    });
  });
  Calls calls;
  const auto failure = failureOf([&] {
    Connections connections(own, Acceptor(std::move(listeners), token, authentication(), 0, 2), calls.of(fingerprintOf(Op::Connect, 0)));
    read(connections, calls);
  });
  writer.join();
}

void fuzzAbort(const std::uint8_t* data, std::size_t size) {
  const DecodedAbort decoded = decodeAbort(data, size, 1, 3);
  for (const auto& one : decoded.failure.ranks) {
    if (one.rank < 0 || one.rank >= 3) std::abort();
    if (one.seenIn) describe(*one.seenIn);
  }
}

void fuzzLengths(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kRanks = 3;
  std::vector<Row> rows(kRanks, Row(2 * kRanks));
  for (std::size_t i = 0; i < kRanks * 2 * kRanks && (i + 1) * 8 <= size; ++i) {
    std::memcpy(&rows[i / (2 * kRanks)][i % (2 * kRanks)], data + i * 8, 8);
  }
  const Fingerprint fingerprint = fingerprintOf(Op::AllToAll, 0);
  failureOf([&] { checkLengths(fingerprint, rows); });
  const Counts counts(rows);
  failureOf([&] { checkExchange(fingerprint, kRanks, counts); });
  failureOf([&] { checkReduceScatter(fingerprint, kRanks, counts); });
}

void fuzzStranger(const std::uint8_t* data, std::size_t size) {
  Listener listener = Listener::unixSocket();
  const Token token{1, 2, 3};
  const Directory own = directoryOf(1, listener, token);
  const SocketAddress at = SocketAddress::of(own.endpointOf(0), SocketType::Unix);
  std::vector<Listener> listeners;
  listeners.push_back(std::move(listener));
  Acceptor acceptor(std::move(listeners), token, authentication(), 0, 2);
  const UniqueFd fd(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || ::connect(fd.get(), at.get(), at.length) != 0) return;
  // In two parts, so that it is read in two parts too.
  sendAll(fd.get(), data, size / 2);
  acceptor.advance();
  sendAll(fd.get(), data + size / 2, size - size / 2);
  acceptor.advance();
  int rank = 0;
  Link taken;
  for (const Purpose purpose : {Purpose::Control, Purpose::Data, Purpose::PointToPoint}) {
    while (acceptor.takeAny(purpose, rank, taken)) {
      if (rank < 0 || rank >= 2) std::abort();
    }
  }
}

void fuzzControl(const std::uint8_t* data, std::size_t size) {
  withRankThatWrites(Purpose::Control, data, size, [](Connections& connections, Calls&) {
    ControlMesh& mesh = connections.mesh();
    while (!mesh.hasEnded(1)) {
      std::vector<pollfd> interests;
      mesh.addInterests(interests);
      ::poll(interests.data(), interests.size(), 100);
      mesh.receive();
      const auto status = mesh.lastStatusOf(1);
      mesh.describePeer(1, 1, status);
    }
    mesh.endFailure(1);
    failureOf([&] { mesh.throwIfFailedBy(~std::uint64_t{0}); });
    failureOf([&] { mesh.throwIfDisagreed(fingerprintOf(Op::AllReduce, kElements)); });
  });
}

void fuzzData(const std::uint8_t* data, std::size_t size) {
  withRankThatWrites(Purpose::Data, data, size, [](Connections& connections, Calls& calls) {
    std::vector<std::uint8_t> into(kElements * 4);
    const Call call = calls.of(fingerprintOf(Op::AllReduce, kElements));
    for (std::uint32_t part = 0; part < 3; ++part) {
      connections.messenger().transfer(call, {}, {{1, part, into.data(), into.size(), part == 1}});
    }
  });
}

void fuzzPointToPoint(const std::uint8_t* data, std::size_t size) {
  withRankThatWrites(Purpose::PointToPoint, data, size, [](Connections& connections, Calls& calls) {
    PointToPoint messages(connections, calls.cancelled, calls.reports);
    std::vector<std::vector<std::uint8_t>> arrays;
    for (const std::uint64_t count : {kElements, std::size_t{0}, kEagerMessageBytes}) arrays.emplace_back(count * 4 + 1);
    std::uint64_t tag = 0;
    for (auto& array : arrays) {
      Message message;
      message.fingerprint = fingerprintOf(Op::Receive, (array.size() - 1) / 4);
      message.fingerprint.root = tag == 1 ? kAnyRank : 1;
      message.fingerprint.sequence = tag++;
      message.data = array.data();
      message.timeoutMs = kTimeoutMs;
      message.done = [](std::optional<OperationFailure>, int) {};
      messages.post(std::move(message));
    }
    if (const auto failure = messages.run()) messages.end(*failure);
  });
}

template <typename Structure>
void append(Bytes& bytes, const Structure& structure) {
  const Bytes more = bytesOf(structure);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

Bytes dataSeed(std::uint32_t parts) {
  Bytes bytes;
  for (std::uint32_t part = 0; part < parts; ++part) {
    DataHeader header;
    header.part = part;
    header.fingerprint = fingerprintOf(Op::AllReduce, kElements);
    header.bytes = kElements * 4;
    append(bytes, header);
    bytes.resize(bytes.size() + header.bytes, 0x3f);
  }
  return bytes;
}

Bytes pointToPointSeed(PointToPointType type, std::uint64_t tag, std::uint64_t count) {
  PointToPointHeader header;
  header.type = type;
  header.fingerprint = fingerprintOf(Op::Send, count);
  header.fingerprint.sequence = tag;
  header.id = 1;
  Bytes bytes = bytesOf(header);
  if (type == PointToPointType::Eager) bytes.resize(bytes.size() + count * 4);
  return bytes;
}

// Valid messages of each target.
std::vector<Bytes> seedsOf(const std::string& target) {
  const Failure failure(FailureCode::Timeout, {{1, fingerprintOf(Op::AllReduce, kElements)}, {2, {}}}, "waiting in shared memory");
  const Bytes abort = encodeAbort(failure, 4);
  if (target == "abort") return {abort};
  if (target == "lengths") return {Bytes(3 * 6 * 8, 0), Bytes(3 * 6 * 8, 7)};
  if (target == "stranger") {
    Hello hello;
    hello.rank = 1;
    return {bytesOf(hello)};
  }
  if (target == "control") {
    const Bytes status = bytesOf(fingerprintOf(Op::AllReduce, kElements));
    return {encodeMessage(ControlType::Status, status), encodeMessage(ControlType::Outside, {}), encodeMessage(ControlType::Abort, abort),
            encodeMessage(ControlType::Leave, {}), encodeMessage(ControlType::Memory, bytesOf(PassedMemoryBody{})),
            encodeMessage(ControlType::Read, bytesOf(ReadBody{}))};
  }
  if (target == "data") return {dataSeed(1), dataSeed(3)};
  return {pointToPointSeed(PointToPointType::Eager, 0, kElements), pointToPointSeed(PointToPointType::RequestToSend, 2, kEagerMessageBytes),
          pointToPointSeed(PointToPointType::Elements, 2, kEagerMessageBytes), pointToPointSeed(PointToPointType::Credit, 0, 0)};
}

using Target = void (*)(const std::uint8_t*, std::size_t);

const std::map<std::string, Target> targets{
    {"abort", fuzzAbort}, {"lengths", fuzzLengths}, {"stranger", fuzzStranger},
    {"control", fuzzControl}, {"data", fuzzData}, {"pointToPoint", fuzzPointToPoint},
};

Target target = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("RINGRUN_FUZZ_TARGET");
  const auto found = targets.find(name == nullptr ? "" : name);
  if (found == targets.end()) std::abort();
  target = found->second;
  const char* const folder = std::getenv("RINGRUN_FUZZ_SEEDS");
  if (folder == nullptr) return 0;
  int number = 0;
  for (const Bytes& seed : seedsOf(found->first)) {
    std::ofstream(std::string(folder) + "/seed-" + std::to_string(number++), std::ios::binary)
        .write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target(data, size);
  return 0;
}
