#include "transport/shm/shared_memory.h"

#include <sys/stat.h>

#include <cerrno>
#include <vector>

#include "base/failure.h"
#include "base/memory_file.h"
#include "base/wait.h"
#include "transport/connect/dial.h"

namespace ringrun {

std::string sharedMemoryProblem() {
  try {
    constexpr std::size_t kProbeBytes = 4096;
    Mapping::shared(createMemoryFile(kProbeBytes).get(), kProbeBytes);
    return "";
  } catch (const Failure& failure) {
    return failure.detail;
  }
}

namespace {

PassedMemory awaitPassedMemory(ControlMesh& mesh, int from, const Call& call) {
  const auto since = Clock::now();
  for (;;) {
    mesh.receive();
    if (auto received = mesh.takePassedMemory(from)) return std::move(*received);
    mesh.throwIfFailedBy(call.fingerprint.sequence);
    if (mesh.hasEnded(from)) throw mesh.endFailure(from);
    mesh.reportWait(call, Clock::now() - since, [&] { return std::vector<InvolvedRank>{{from, {}}}; });
    throwIfTimedOutOrCancelled(call, from, "it did not pass its shared memory");
    std::vector<pollfd> interests;
    mesh.addInterests(interests);
    pollSockets(interests.data(), interests.size(), call.deadline.leftWithin(kLivenessInterval));
  }
}

}  // namespace

Mapping shareMemory(ControlMesh& mesh, const Team& team, int rank, std::size_t bytes, const Call& call) {
  if (team.size() == 1) return Mapping::anonymous(bytes);
  const int creator = team.front();
  if (rank == creator) {
    const UniqueFd fd = createMemoryFile(bytes);
    Mapping mapping = Mapping::shared(fd.get(), bytes);
    mesh.passMemory(fd.get(), bytes);
    return mapping;
  }
  const PassedMemory received = awaitPassedMemory(mesh, creator, call);
  if (received.bytes != bytes) {
    throw Failure(FailureCode::System, {},
                  "rank " + std::to_string(creator) + " passed " + std::to_string(received.bytes) + " bytes of shared memory, expected " +
                      std::to_string(bytes));
  }
  struct stat file {};
  if (::fstat(received.fd.get(), &file) != 0) throwSystem("fstat", errno, "shared memory of rank " + std::to_string(creator));
  // Accesses beyond its end would end this process. macOS rounds sizes up to whole pages.
  if (static_cast<std::uint64_t>(file.st_size) < bytes) {
    throw Failure(FailureCode::System, {},
                  "rank " + std::to_string(creator) + " passed a file of " + std::to_string(file.st_size) +
                      " bytes as shared memory, expected " + std::to_string(bytes));
  }
  return Mapping::shared(received.fd.get(), bytes);
}

}  // namespace ringrun
