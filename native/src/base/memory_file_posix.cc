#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>

#include "base/failure.h"
#include "base/memory_file.h"

namespace ringrun {

// shm_open() needs a name, at most 31 characters on macOS. It is deleted at once, so nothing is left if the process ends.
UniqueFd createMemoryFile(std::size_t bytes) {
  std::random_device random;
  const std::string name = "/ringrun-" + std::to_string(random()) + std::to_string(random());
  UniqueFd fd(::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));  // close-on-exec
  if (!fd) throwSystem("shm_open", errno, "shared memory");
  ::shm_unlink(name.c_str());
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    throwSystem("ftruncate", errno, std::to_string(bytes) + " bytes of shared memory");
  }
  return fd;
}

}  // namespace ringrun
