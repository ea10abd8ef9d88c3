#include "base/file_lock.h"

#include <fcntl.h>

#include <cerrno>

namespace ringrun {
namespace {

// The kernel requires l_pid 0 for open file description locks.
struct flock lockOf(short type, off_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

int tryLockByte(int fd, off_t byte, bool& locked) {
  struct flock lock = lockOf(F_WRLCK, byte);
  locked = ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
  return locked || errno == EAGAIN || errno == EACCES ? 0 : errno;
}

int unlockByte(int fd, off_t byte) {
  struct flock lock = lockOf(F_UNLCK, byte);
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

int isByteLockedElsewhere(int fd, off_t byte, bool& locked) {
  struct flock lock = lockOf(F_WRLCK, byte);
  if (::fcntl(fd, F_OFD_GETLK, &lock) != 0) return errno;
  locked = lock.l_type != F_UNLCK;
  return 0;
}

}  // namespace ringrun
