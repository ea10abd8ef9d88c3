#include "base/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/failure.h"
#include "base/pages.h"

namespace ringrun {
namespace {

std::uint8_t* map(int fd, std::size_t bytes, int flags) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (address == MAP_FAILED) throwSystem("mmap", errno, std::to_string(bytes) + " bytes");
  adviseHugePages(address, bytes);
  return static_cast<std::uint8_t*>(address);
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Mapping Mapping::anonymous(std::size_t bytes) { return {map(-1, bytes, MAP_PRIVATE | MAP_ANONYMOUS), bytes}; }

Mapping Mapping::shared(int fd, std::size_t bytes) { return {map(fd, bytes, MAP_SHARED), bytes}; }

// Without MAP_NORESERVE, Linux refuses to map a file that is larger than memory, because all of it could be written.
Mapping Mapping::copyOnWrite(int fd, std::size_t bytes) {
  return {map(fd, bytes, MAP_PRIVATE | MAP_NORESERVE), bytes};
}

void Mapping::populate(std::size_t begin, std::size_t length) const {
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t first = begin / page * page;
  const std::size_t last = (begin + length + page - 1) / page * page;
  const int error = populatePages(data_ + first, last - first);
  if (error != 0) throwSystem("madvise(MADV_POPULATE_WRITE)", error, std::to_string(length) + " bytes of shared memory");
}

}  // namespace ringrun
