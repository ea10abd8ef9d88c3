#pragma once

#include <sys/types.h>

namespace ringrun {

// Locks of single bytes of a file, by which processes exclude each other. The locks belong to the open file
// (fcntl(2), "open file description locks"): two descriptors opened by one process exclude each other too. The
// kernel releases a lock when its file is closed, so a process that ends in any way leaves none. The byte need
// not exist. Network file systems forward the locks to their server.
//
// Each function returns 0, or the errno of fcntl, such as ENOLCK on a file system without locks.

// Locks the byte for this open file. Sets `locked` to false if another open file holds it. Does not wait.
int tryLockByte(int fd, off_t byte, bool& locked);

// Unlocks the byte. Does nothing if it is not locked.
int unlockByte(int fd, off_t byte);

// Sets `locked` to true if another open file holds the byte.
int isByteLockedElsewhere(int fd, off_t byte, bool& locked);

}  // namespace ringrun
