// Errors of a network file system for the processes that load this library with LD_PRELOAD. NFS_FAULT names the fault;
// paths that contain "/nfs-" have it. A file that is visible late appears when the file NFS_VISIBLE exists.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const long kNfsType = 0x6969;

static int isNamed(const char *fault) {
  const char *name = getenv("NFS_FAULT");
  return name != NULL && strcmp(name, fault) == 0;
}

static int has(const char *fault, const char *path) { return isNamed(fault) && strstr(path, "/nfs-") != NULL; }

static int fileHas(const char *fault, int fd) {
  char link[64];
  char path[PATH_MAX];
  if (!isNamed(fault)) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return has(fault, path);
}

static int fails(int error) {
  errno = error;
  return -1;
}

static int isVisible(void) {
  const char *path = getenv("NFS_VISIBLE");
  return path == NULL || access(path, F_OK) == 0;
}

// The request is carried out, its answer is lost, and the client repeats it.
int rename(const char *from, const char *to) {
  if (has("rename EIO", to)) return fails(EIO);
  if (has("rename twice", to)) NEXT(rename)(from, to);
  return NEXT(rename)(from, to);
}

static int staleReads = 0;
static int creations = 0;

static int errorOfOpen(const char *path, int flags, int mode) {
  if (strstr(path, "model") == NULL) return 0;
  if (has("stale twice", path) && staleReads < 2) {
    staleReads++;
    return ESTALE;
  }
  if (has("stale", path)) return ESTALE;
  if (has("file late", path) && !(flags & O_CREAT) && !isVisible()) return ENOENT;
  if ((flags & O_EXCL) && (has("created always", path) || (has("created twice", path) && creations == 0))) {
    creations++;
    close(NEXT(open)(path, flags, mode));
    return EEXIST;
  }
  return 0;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  const int error = errorOfOpen(path, flags, mode);
  return error ? fails(error) : NEXT(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  const int error = errorOfOpen(path, flags, mode);
  return error ? fails(error) : NEXT(open64)(path, flags, mode);
}

static int isHidden(DIR *folder, const char *name) {
  if (strcmp(name, "state.json") == 0 && fileHas("file unlisted", dirfd(folder))) return 1;
  return strncmp(name, "checkpoint-", 11) == 0 && fileHas("folder late", dirfd(folder)) && !isVisible();
}

struct dirent *readdir(DIR *folder) {
  struct dirent *entry;
  do entry = NEXT(readdir)(folder);
  while (entry != NULL && isHidden(folder, entry->d_name));
  return entry;
}

struct dirent64 *readdir64(DIR *folder) {
  struct dirent64 *entry;
  do entry = NEXT(readdir64)(folder);
  while (entry != NULL && isHidden(folder, entry->d_name));
  return entry;
}

int statfs(const char *path, struct statfs *found) {
  const int status = NEXT(statfs)(path, found);
  if (has("folder late", path)) found->f_type = kNfsType;
  return status;
}

int statfs64(const char *path, struct statfs64 *found) {
  const int status = NEXT(statfs64)(path, found);
  if (has("folder late", path)) found->f_type = kNfsType;
  return status;
}

int fsync(int fd) {
  struct stat found;
  const int isFolder = fstat(fd, &found) == 0 && S_ISDIR(found.st_mode);
  if (isFolder && fileHas("fsync EINVAL", fd)) return fails(EINVAL);
  if (isFolder && fileHas("fsync ENOTSUP", fd)) return fails(ENOTSUP);
  return NEXT(fsync)(fd);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  return fileHas("quota", fd) ? fails(EDQUOT) : NEXT(write)(fd, bytes, count);
}

int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  if (command == F_OFD_SETLK && fileHas("no locks", fd)) return fails(ENOLCK);
  return NEXT(fcntl64)(fd, command, argument);
}

int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  return fcntl64(fd, command, argument);
}

// A file that another process has open gets another name instead.
int unlink(const char *path) {
  char hidden[PATH_MAX];
  if (!has("open file", path) || strstr(path, "checkpoint-000001") == NULL) return NEXT(unlink)(path);
  if (strstr(path, "/.nfs") != NULL) return fails(EBUSY);
  if (strstr(path, "state.json") == NULL) return NEXT(unlink)(path);
  snprintf(hidden, sizeof hidden, "%.*s/.nfs0001", (int)(strrchr(path, '/') - path), path);
  return NEXT(rename)(path, hidden);
}
