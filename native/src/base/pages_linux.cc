#include "base/pages.h"

#include <sys/mman.h>

#include <cerrno>

namespace ringrun {

void adviseHugePages(void* address, std::size_t bytes) { ::madvise(address, bytes, MADV_HUGEPAGE); }

// Kernels before 5.14 return EINVAL. Some containers return ENOSYS.
int populatePages(void* address, std::size_t bytes) {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, missing in the headers of older C libraries
  return ::madvise(address, bytes, kPopulateWrite) == 0 || errno == EINVAL || errno == ENOSYS ? 0 : errno;
}

void releasePages(void* address, std::size_t bytes) { ::madvise(address, bytes, MADV_DONTNEED); }

}  // namespace ringrun
