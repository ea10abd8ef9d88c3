// Records when onnxruntime runs, for any caller: a library that is loaded before libonnxruntime. It replaces
// OrtApi::Run in the library's table of functions by one that notes when each run starts and ends.
//
// BENCH_ONNXRUNTIME is the path of libonnxruntime. BENCH_RUNS is a folder: each process that loads onnxruntime writes a
// file there, named after its pid, of unsigned 64-bit numbers: the number of runs, then for each run its start and end in
// nanoseconds of CLOCK_MONOTONIC, which all processes of a host share, and the processor time of the calling thread.
//
// RINGRUN_ONNXRUNTIME_LIBRARY makes ringrun load this library. LD_PRELOAD does so for versions of ringrun that use the
// binding of onnxruntime-node.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kRun = 9, kMostRuns = 1 << 20 };  // kRun: position of Run in OrtApi (onnxruntime_c_api.h)

struct Runs {
  atomic_ulong count;
  struct {
    uint64_t start, end, processor;
  } runs[kMostRuns];
};

struct ApiBase {
  const void* (*getApi)(uint32_t version);
  const char* (*getVersionString)(void);
};

typedef void* (*Run)(void* session, const void* options, const void* inputNames, const void* inputs, size_t inputCount,
                     const void* outputNames, size_t outputCount, void* outputs);

static const struct ApiBase* real;
static Run realRun;
static struct Runs* recorded;

static uint64_t nanoseconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void fail(const char* what, const char* reason) {
  fprintf(stderr, "timed_runs: %s: %s\n", what, reason);
  exit(1);
}

static void* timed_run(void* session, const void* options, const void* inputNames, const void* inputs, size_t inputCount,
                       const void* outputNames, size_t outputCount, void* outputs) {
  const uint64_t used = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
  const uint64_t start = nanoseconds(CLOCK_MONOTONIC);
  void* const status = realRun(session, options, inputNames, inputs, inputCount, outputNames, outputCount, outputs);
  const uint64_t end = nanoseconds(CLOCK_MONOTONIC);
  const uint64_t processor = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - used;
  const unsigned long place = atomic_fetch_add(&recorded->count, 1);
  if (place < kMostRuns) {
    recorded->runs[place].start = start;
    recorded->runs[place].end = end;
    recorded->runs[place].processor = processor;
  }
  return status;
}

static void replace_run(void** table) {
  // The table is read-only after relocation.
  const uintptr_t page = (uintptr_t)&table[kRun] & ~(uintptr_t)(getpagesize() - 1);
  if (mprotect((void*)page, getpagesize(), PROT_READ | PROT_WRITE) != 0) fail("mprotect", "cannot change onnxruntime's table");
  realRun = (Run)table[kRun];
  table[kRun] = (void*)timed_run;
}

static void open_real(void) {
  const char* const path = getenv("BENCH_ONNXRUNTIME");
  const char* const folder = getenv("BENCH_RUNS");
  if (!path || !folder) fail("BENCH_ONNXRUNTIME and BENCH_RUNS", "expected both to be set");
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(path, dlerror());
  real = ((const struct ApiBase* (*)(void))dlsym(library, "OrtGetApiBase"))();
  char name[4096];
  snprintf(name, sizeof name, "%s/%d", folder, getpid());
  const int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, sizeof *recorded) != 0) fail(name, "cannot be created");
  recorded = mmap(0, sizeof *recorded, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (recorded == MAP_FAILED) fail(name, "cannot be mapped");
  close(file);
}

static const void* timed_api(uint32_t version) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  const void* const table = real->getApi(version);
  // All versions have one table.
  if (table && !realRun) replace_run((void**)table);
  pthread_mutex_unlock(&mutex);
  return table;
}

const struct ApiBase* OrtGetApiBase(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static struct ApiBase base;
  pthread_once(&once, open_real);
  base = (struct ApiBase){timed_api, real->getVersionString};
  return &base;
}
