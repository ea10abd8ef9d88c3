#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/failure.h"
#include "base/memory_file.h"

namespace ringrun {

UniqueFd createMemoryFile(std::size_t bytes) {
  UniqueFd fd(::memfd_create("ringrun", MFD_CLOEXEC));
  if (!fd) throwSystem("memfd_create", errno, "shared memory");
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    throwSystem("ftruncate", errno, std::to_string(bytes) + " bytes of shared memory");
  }
  return fd;
}

}  // namespace ringrun
