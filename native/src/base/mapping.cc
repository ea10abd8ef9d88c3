#include "base/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/failure.h"

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

namespace ringrun {
namespace {

std::uint8_t* map(int fd, std::size_t bytes, int flags) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (address == MAP_FAILED) throwSystem("mmap", errno, std::to_string(bytes) + " bytes");
#ifdef MADV_HUGEPAGE
  // With huge pages: 512 times fewer TLB entries and page faults. Without them this has no effect.
  ::madvise(address, bytes, MADV_HUGEPAGE);
#endif
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
#ifdef __linux__
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, missing in the headers of older C libraries
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t first = begin / page * page;
  const std::size_t last = (begin + length + page - 1) / page * page;
  if (::madvise(data_ + first, last - first, kPopulateWrite) == 0 || errno == EINVAL || errno == ENOSYS) return;
  throwSystem("madvise(MADV_POPULATE_WRITE)", errno, std::to_string(length) + " bytes of shared memory");
#else
  (void)begin;
  (void)length;
#endif
}

}  // namespace ringrun
