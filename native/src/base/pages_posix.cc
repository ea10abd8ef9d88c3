#include "base/pages.h"

#include <sys/mman.h>

namespace ringrun {

void adviseHugePages(void*, std::size_t) {}

int populatePages(void*, std::size_t) { return 0; }

// posix_madvise(POSIX_MADV_DONTNEED) may keep the pages. macOS and the BSDs release them by MADV_FREE, when memory is
// short.
void releasePages(void* address, std::size_t bytes) { ::madvise(address, bytes, MADV_FREE); }

}  // namespace ringrun
