#pragma once

#include <cstddef>

namespace ringrun {

// Advice to the system about mapped memory. `address` and `bytes` are of whole pages.

// With huge pages, a range has 512 times fewer TLB entries and page faults. Does nothing where they do not exist.
void adviseHugePages(void* address, std::size_t bytes);

// Makes the pages of shared memory present and writable, so that the first use causes no page faults. Returns 0 or errno,
// and does nothing if the system cannot.
int populatePages(void* address, std::size_t bytes);

// Returns the memory of private pages to the system. Their contents are lost.
void releasePages(void* address, std::size_t bytes);

}  // namespace ringrun
