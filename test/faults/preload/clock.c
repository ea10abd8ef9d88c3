// Changes the wall clock of the processes that load this library with LD_PRELOAD, and leaves the monotonic clock.
//
// FAULT_CLOCK names a file of two integers of 8 bytes, which the test changes at any moment: the nanoseconds that are
// added to the wall clock, and the time at which it stands still (0: it runs).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct Change {
  volatile int64_t offset;
  volatile int64_t frozen;
};

static const int64_t kSecond = 1000000000;
static struct Change none;
static struct Change *change = &none;

static int (*realGettime)(clockid_t, struct timespec *);
static long (*realSyscall)(long, ...);
static int (*realTimedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void) {
  realGettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  realSyscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  realTimedwait = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlvsym(
      RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  const char *path = getenv("FAULT_CLOCK");
  const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) change = mapped;
  close(fd);
}

static struct timespec later(struct timespec time, int64_t nanoseconds) {
  const int64_t sum = time.tv_sec * kSecond + time.tv_nsec + nanoseconds;
  const int64_t result = sum < 0 ? 0 : sum;
  return (struct timespec){.tv_sec = result / kSecond, .tv_nsec = result % kSecond};
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!realGettime) begin();
  const int status = realGettime(clock, time);
  if (status != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return status;
  const int64_t frozen = change->frozen;
  *time = frozen ? (struct timespec){.tv_sec = frozen / kSecond, .tv_nsec = frozen % kSecond} : later(*time, change->offset);
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  *time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

// The kernel's clock has not changed: the moment at which it shows what this clock will show at `deadline`.
static struct timespec onKernelClock(struct timespec deadline) {
  struct timespec here, kernel;
  clock_gettime(CLOCK_REALTIME, &here);
  realGettime(CLOCK_REALTIME, &kernel);
  return later(deadline, (kernel.tv_sec - here.tv_sec) * kSecond + kernel.tv_nsec - here.tv_nsec);
}

// A condition that waits by the monotonic clock has a deadline near the boot.
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict deadline) {
  struct timespec monotonic;
  realGettime(CLOCK_MONOTONIC, &monotonic);
  const int isMonotonic = llabs((long long)(deadline->tv_sec - monotonic.tv_sec)) < 100000;
  const struct timespec real = isMonotonic ? *deadline : onKernelClock(*deadline);
  return realTimedwait(condition, mutex, &real);
}

// std::future of C++ waits by the kernel's wall clock.
long syscall(long number, ...) {
  if (!realSyscall) begin();
  long given[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; ++i) given[i] = va_arg(list, long);
  va_end(list);
  struct timespec real;
  if (number == SYS_futex && (given[1] & FUTEX_CLOCK_REALTIME) && given[3]) {
    real = onKernelClock(*(const struct timespec *)given[3]);
    given[3] = (long)&real;
  }
  return realSyscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
