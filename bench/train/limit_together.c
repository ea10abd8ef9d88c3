// The cost of waiting for each other at every step, and nothing else: `limit_together processes steps repeats`. In each
// step, each process multiplies matrices and copies memory, always the same: `repeats` times about 7 ms. The processes
// alternate four times between running `steps` steps freely and waiting for all others after each step. There are no
// messages, no reductions and no JavaScript. Prints the steps of all processes as JSON, in ms.
//
// Processes of one machine never need equal time for equal work, because of interrupts, caches and a hypervisor's other
// guests. A common step takes as long as the slowest process.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 4, kWarmUp = 30, kSpins = 2000, kRows = 96, kInner = 64, kColumns = 256, kProducts = 60 };
static const size_t kCopied = 6 << 20;

struct Shared {
  atomic_int arrived;
  atomic_int turn;
  double times[];  // [processes][2 * kRounds][steps], in ms
};

struct Work {
  float *a, *b, *c;
  char *from, *to;
};

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

// Spins for a while and then sleeps, as ranks in shared memory do.
static void wait_for_all(struct Shared* shared, int processes) {
  const int turn = atomic_load(&shared->turn);
  if (atomic_fetch_add(&shared->arrived, 1) + 1 == processes) {
    atomic_store(&shared->arrived, 0);
    atomic_fetch_add(&shared->turn, 1);
    syscall(SYS_futex, &shared->turn, FUTEX_WAKE, processes, NULL, NULL, 0);
    return;
  }
  for (int i = 0; i < kSpins && atomic_load(&shared->turn) == turn; ++i) atomic_signal_fence(memory_order_seq_cst);
  while (atomic_load(&shared->turn) == turn) syscall(SYS_futex, &shared->turn, FUTEX_WAIT, turn, NULL, NULL, 0);
}

static void* filled(size_t bytes) {
  void* memory = malloc(bytes);
  memset(memory, 1, bytes);
  return memory;
}

static void work(const struct Work* w) {
  for (int n = 0; n < kProducts; ++n)
    for (int i = 0; i < kRows; ++i)
      for (int k = 0; k < kInner; ++k) {
        const float factor = w->a[i * kInner + k];
        for (int j = 0; j < kColumns; ++j) w->c[i * kColumns + j] += factor * w->b[k * kColumns + j];
      }
  memcpy(w->to, w->from, kCopied);
  memcpy(w->from, w->to, kCopied);
}

static double* times_of(struct Shared* shared, int rank, int round, int steps) {
  return shared->times + ((size_t)rank * 2 * kRounds + round) * steps;
}

static void measure(struct Shared* shared, int rank, int processes, int steps, int repeats) {
  const struct Work own = {filled(kRows * kInner * 4), filled(kInner * kColumns * 4), filled(kRows * kColumns * 4),
                           filled(kCopied), filled(kCopied)};
  for (int i = 0; i < kWarmUp; ++i) work(&own);
  for (int round = 0; round < 2 * kRounds; ++round) {
    const int together = round % 2;
    double* const times = times_of(shared, rank, round, steps);
    wait_for_all(shared, processes);
    double before = now_ms();
    for (int i = 0; i < steps; ++i) {
      for (int n = 0; n < repeats; ++n) work(&own);
      if (together) wait_for_all(shared, processes);
      const double now = now_ms();
      times[i] = now - before;
      before = now;
    }
  }
}

static void print(struct Shared* shared, int processes, int steps) {
  for (int rank = 0; rank < processes; ++rank)
    for (int round = 0; round < 2 * kRounds; ++round)
      for (int i = 0; i < steps; ++i)
        printf("{\"rank\":%d,\"together\":%s,\"ms\":%.4f}\n", rank, round % 2 ? "true" : "false",
               times_of(shared, rank, round, steps)[i]);
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "limit_together: expected three arguments, the number of processes, of steps and of repeats\n");
    return 2;
  }
  const int processes = atoi(argv[1]), steps = atoi(argv[2]), repeats = atoi(argv[3]);
  const size_t bytes = sizeof(struct Shared) + sizeof(double) * processes * 2 * kRounds * steps;
  struct Shared* shared = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int rank = 0; rank < processes; ++rank) {
    if (fork() != 0) continue;
    measure(shared, rank, processes, steps, repeats);
    _exit(0);
  }
  while (wait(NULL) > 0) continue;
  print(shared, processes, steps);
  return 0;
}
