// The limit of an all-reduce in shared memory: `limit_shm bytes:repetitions …`. Between two spinning barriers, each of
// two processes adds its half of two arrays and writes the sums to both. There are no headers, checks or sleeps. Each
// process is bound to its own processor: two that spin on one would measure the scheduler.
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

struct Shared {
  _Alignas(64) atomic_long arrived[2];
};

static void barrier(struct Shared* shared, int rank, long turn) {
  atomic_store_explicit(&shared->arrived[rank], turn, memory_order_release);
  while (atomic_load_explicit(&shared->arrived[1 - rank], memory_order_acquire) < turn) __builtin_ia32_pause();
}

static void stay_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

static void add_half(float* a, float* b, long begin, long end) {
  for (long i = begin; i < end; ++i) a[i] = b[i] = a[i] + b[i];
}

static void* share(long bytes) {
  return mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

int main(int argc, char** argv) {
  struct Shared* shared = share(sizeof(struct Shared));
  // A separate pair of arrays for each size: parts of one large mapping were up to seven times slower.
  float* arrays[argc][2];
  for (int step = 1; step < argc; ++step) {
    long bytes, repetitions;
    read_step(argv[step], &bytes, &repetitions);
    for (int side = 0; side < 2; ++side) arrays[step][side] = share(bytes);
  }
  const int rank = fork() == 0;
  stay_on(rank);
  long turn = 0;
  for (int step = 1; step < argc; ++step) {
    long bytes, repetitions;
    read_step(argv[step], &bytes, &repetitions);
    float *a = arrays[step][0], *b = arrays[step][1];
    const long count = bytes / sizeof(float), middle = count / 2;
    double* times = malloc(repetitions * sizeof(double));
    for (long i = -repetitions; i < repetitions; ++i) {
      const double start = now_us();
      barrier(shared, rank, ++turn);
      add_half(a, b, rank ? middle : 0, rank ? count : middle);
      barrier(shared, rank, ++turn);
      if (i >= 0) times[i] = now_us() - start;
    }
    if (rank == 0) print_times(bytes, times, repetitions);
    free(times);
  }
  if (rank == 0) wait(0);
  return 0;
}
