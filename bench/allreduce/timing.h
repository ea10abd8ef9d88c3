// Shared by the two limits: the clock, the format of the plan and the printed lines.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static inline void read_step(const char* text, long* bytes, long* repetitions) {
  if (sscanf(text, "%ld:%ld", bytes, repetitions) != 2) {
    fprintf(stderr, "expected bytes:repetitions, got %s\n", text);
    exit(2);
  }
}

static inline void print_times(long bytes, const double* times, long repetitions) {
  printf("{\"bytes\":%ld,\"times\":[", bytes);
  for (long i = 0; i < repetitions; ++i) printf("%s%.3f", i ? "," : "", times[i]);
  printf("]}\n");
  fflush(stdout);
}
