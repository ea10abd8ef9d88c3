// The limit of an all-reduce of two ranks over TCP on loopback: `limit_tcp bytes:repetitions …`. Each side sends and
// receives as many bytes as the all-reduce, 2·N·(2 − 1)/2 = N each way, on one connection, and adds nothing.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

static void exchange(int fd, char* out, char* in, long bytes) {
  long sent = 0, received = 0;
  while (sent < bytes || received < bytes) {
    int moved = 0;
    if (sent < bytes) {
      const ssize_t n = send(fd, out + sent, bytes - sent, MSG_NOSIGNAL);
      if (n > 0) sent += n, moved = 1;
    }
    if (received < bytes) {
      const ssize_t n = recv(fd, in + received, bytes - received, 0);
      if (n > 0) received += n, moved = 1;
      if (n == 0) exit(1);
    }
    if (!moved) {
      struct pollfd p = {fd, (received < bytes ? POLLIN : 0) | (sent < bytes ? POLLOUT : 0), 0};
      poll(&p, 1, 1000);
    }
  }
}

int main(int argc, char** argv) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr*)&address, length) || listen(listener, 1)) return perror("listen"), 1;
  getsockname(listener, (struct sockaddr*)&address, &length);
  const int rank = fork() == 0;
  int fd;
  if (rank == 1) {
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr*)&address, length)) return perror("connect"), 1;
  } else {
    fd = accept(listener, 0, 0);
  }
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  for (int step = 1; step < argc; ++step) {
    long bytes, repetitions;
    read_step(argv[step], &bytes, &repetitions);
    char* out = malloc(bytes);
    memset(out, 1, bytes);  // untouched memory would be one page of zeros that stays in the cache
    char* in = calloc(bytes, 1);
    double* times = malloc(repetitions * sizeof(double));
    for (long i = -repetitions; i < repetitions; ++i) {
      const double start = now_us();
      exchange(fd, out, in, bytes);
      if (i >= 0) times[i] = now_us() - start;
    }
    if (rank == 0) print_times(bytes, times, repetitions);
    free(times), free(in), free(out);
  }
  if (rank == 0) wait(0);
  return 0;
}
