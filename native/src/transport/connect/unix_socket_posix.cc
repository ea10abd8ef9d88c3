#include "transport/connect/unix_socket.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/failure.h"
#include "transport/connect/endpoint.h"

namespace ringrun {
namespace {

// Of a name below the folder: a process number, a dash and a token of 32 digits.
constexpr std::size_t kMaxNameBytes = 48;

std::string ownFolder() {
  const std::string ownName = "/ringrun-" + std::to_string(::geteuid());
  const char* const given = std::getenv("TMPDIR");
  const std::string folder = (given == nullptr || given[0] != '/' ? "/tmp" : given) + ownName;
  return folder.size() + kMaxNameBytes <= sizeof sockaddr_un{}.sun_path ? folder : "/tmp" + ownName;
}

void requireOwnFolder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) throwSystem("mkdir", errno, folder);
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0) throwSystem("lstat", errno, folder);
  const bool isOurs = S_ISDIR(found.st_mode) && found.st_uid == ::geteuid() && (found.st_mode & 077) == 0;
  if (isOurs) return;
  throw Failure(FailureCode::System, {}, "the folder of Unix sockets must belong to this user alone: " + folder +
                                             " does not. Remove it, or set TMPDIR to another folder");
}

// Processes that end in any way but a crash delete their files.
void deleteFilesOfEndedProcesses(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries.get())) {
    const int pid = std::atoi(entry->d_name);
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) ::unlink((folder + "/" + entry->d_name).c_str());
  }
}

#if !defined(__APPLE__) && !defined(__FreeBSD__) && !defined(__OpenBSD__) && !defined(__NetBSD__)
// glibc and musl have no getpeereid().
int getpeereid(int fd, uid_t* user, gid_t* group) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -1;
  *user = peer.uid;
  *group = peer.gid;
  return 0;
}
#endif

}  // namespace

std::string newSocketName() {
  const std::string folder = ownFolder();
  requireOwnFolder(folder);
  deleteFilesOfEndedProcesses(folder);
  return folder + "/" + std::to_string(::getpid()) + "-" + hexOf(randomToken());
}

std::string fileOfSocket(const std::string& name) { return name; }

socklen_t addressOfSocket(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof address.sun_path) return 0;
  std::memcpy(address.sun_path, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
}

std::string describeSocket(const std::string& name) { return "Unix socket " + name; }

std::string foreignUser(int fd) {
  uid_t user = 0;
  gid_t group = 0;
  if (getpeereid(fd, &user, &group) != 0) return "an unknown user";
  return user != ::geteuid() && user != 0 ? "user " + std::to_string(user) : "";
}

}  // namespace ringrun
