// Errors of a network file system, preloaded into a process. NFS_FAULT names the fault; paths that contain "/nfs-" have it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int has(const char *fault, const char *path) {
  const char *name = getenv("NFS_FAULT");
  return name != NULL && strcmp(name, fault) == 0 && strstr(path, "/nfs-") != NULL;
}

// The request is carried out, its answer is lost, and the client repeats it.
int rename(const char *from, const char *to) {
  int (*next)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
  if (has("rename EIO", to)) { errno = EIO; return -1; }
  if (has("rename twice", to)) next(from, to);
  return next(from, to);
}

static int staleReads = 0;

static int refuses(const char *path) {
  if (has("stale twice", path) && strstr(path, "model") != NULL && staleReads < 2) { staleReads++; errno = ESTALE; return 1; }
  if (has("stale", path) && strstr(path, "model") != NULL) { errno = ESTALE; return 1; }
  return 0;
}

int open(const char *path, int flags, int mode) {
  int (*next)(const char *, int, int) = dlsym(RTLD_NEXT, "open");
  return refuses(path) ? -1 : next(path, flags, mode);
}

int open64(const char *path, int flags, int mode) {
  int (*next)(const char *, int, int) = dlsym(RTLD_NEXT, "open64");
  return refuses(path) ? -1 : next(path, flags, mode);
}
