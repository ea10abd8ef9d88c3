#pragma once

#include <sys/types.h>

namespace ringrun {

// Locks of single bytes of a file, by which processes agree on who may do what with it. They belong to the open file (fcntl(2), "open file description
// locks"): two that one process has opened exclude each other, and the kernel drops a lock when its file is closed, so the end of a process, however it
// ends, leaves none behind. A byte need not be there to be locked. Network file systems pass them on to their server.
//
// Each returns the error number of fcntl where that fails, such as ENOLCK on a file system without locks, and 0 otherwise.

// Locks the byte for this open file alone; `locked` becomes false when another has it. Does not wait.
int tryLockByte(int fd, off_t byte, bool& locked);

// Gives the byte back; one that is not locked stays so.
int unlockByte(int fd, off_t byte);

// Whether another open file has the byte.
int isByteLockedElsewhere(int fd, off_t byte, bool& locked);

}  // namespace ringrun
