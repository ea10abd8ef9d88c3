// The limit of an all-reduce in shared memory: two processes, each adds its half of two arrays and writes the sums to both, between two
// spinning barriers. No headers, no checks, no sleeping: `limit_shm bytes:repetitions …`.
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

static void add_half(float* a, float* b, long begin, long end) {
  for (long i = begin; i < end; ++i) a[i] = b[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  struct Shared* shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  long largest = 0;
  for (int step = 1; step < argc; ++step) {
    long bytes, repetitions;
    read_step(argv[step], &bytes, &repetitions);
    if (bytes > largest) largest = bytes;
  }
  float* a = mmap(0, largest, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  float* b = mmap(0, largest, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  const int rank = fork() == 0;
  long turn = 0;
  for (int step = 1; step < argc; ++step) {
    long bytes, repetitions;
    read_step(argv[step], &bytes, &repetitions);
    const long count = bytes / sizeof(float), middle = count / 2;
    double* times = malloc(repetitions * sizeof(double));
    const long warm_up = repetitions < 20 ? repetitions : 20;
    for (long i = -warm_up; i < repetitions; ++i) {
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
