// Connects to a relay instead of ports of 127.0.0.1, in the processes that load this library with LD_PRELOAD.
//
// FAULT_RELAY is the port of the relay, FAULT_RELAY_EXCEPT a port that is not relayed. Before it connects, a process
// writes the port that it means to the file FAULT_RELAY_FOLDER/<its own port>.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

typedef int (*Connect)(int, const struct sockaddr *, socklen_t);

static int portOf(const char *variable) {
  const char *text = getenv(variable);
  return text ? atoi(text) : 0;
}

int connect(int fd, const struct sockaddr *address, socklen_t length) {
  const Connect real = (Connect)dlsym(RTLD_NEXT, "connect");
  struct sockaddr_in target;
  int type = 0;
  socklen_t typeLength = sizeof type;
  getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &typeLength);
  if (type != SOCK_STREAM || address->sa_family != AF_INET) return real(fd, address, length);
  memcpy(&target, address, sizeof target);
  const int port = ntohs(target.sin_port);
  const int relay = portOf("FAULT_RELAY");
  if (!relay || port == portOf("FAULT_RELAY_EXCEPT")) return real(fd, address, length);
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t ownLength = sizeof own;
  if (bind(fd, (struct sockaddr *)&own, sizeof own) != 0) return -1;
  getsockname(fd, (struct sockaddr *)&own, &ownLength);
  char path[1024];
  snprintf(path, sizeof path, "%s/%d", getenv("FAULT_RELAY_FOLDER"), ntohs(own.sin_port));
  FILE *file = fopen(path, "we");
  if (!file) return -1;
  fprintf(file, "%d\n", port);
  fclose(file);
  target.sin_port = htons((unsigned short)relay);
  return real(fd, (struct sockaddr *)&target, sizeof target);
}
