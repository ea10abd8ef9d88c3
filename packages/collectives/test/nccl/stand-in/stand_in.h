#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

// What both stand-ins share: libcuda.cc stands in for the CUDA driver and libnccl.cc for NCCL, so that everything above
// them can be tried on a machine without a GPU. They are neither: memory "on the GPU" is memory of the host, a "stream" is
// a thread, and ranks exchange bytes over sockets of this machine. What they are strict about is how they are called.
//
// RINGRUN_STAND_IN_FAULT=FUNCTION:CALL:WHAT, or several with commas between them, lets that call of that function, counted from 1, fail: WHAT is the number it
// returns, or `hang` (it, or what it has begun, never ends), or `async=NUMBER` (it succeeds, and the communicator reports
// that error from then on), or `kill` (the process ends there). RINGRUN_STAND_IN_LOG=FILE: a line for every call.
// RINGRUN_STAND_IN_BUSY_MS: how long the default stream computes something when it is used first.

namespace stand_in {

struct Fault {
  std::string function;
  int call = 0;  // of those that are still to come; the fault is over at 0
  std::string what;
};

inline std::vector<Fault> parse(const std::string& list) {
  std::vector<Fault> faults;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string one = list.substr(begin, end - begin);
    const std::size_t first = one.find(':');
    const std::size_t second = one.find(':', first + 1);
    faults.push_back({one.substr(0, first), std::atoi(one.substr(first + 1, second - first - 1).c_str()), one.substr(second + 1)});
    begin = end + 1;
  }
  return faults;
}

inline void log(const char* function) {
  static const int file = [] {
    const char* const path = std::getenv("RINGRUN_STAND_IN_LOG");
    return path == nullptr || path[0] == '\0' ? -1 : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }();
  if (file < 0) return;
  const std::string line = std::string(function) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
}

// What is to go wrong in this call; empty where nothing is. Counts the calls from when the variable was set last: a test may
// set it again in the course of a process.
inline std::string faultOf(const char* function) {
  log(function);
  static std::mutex mutex;
  static std::string known;
  static std::vector<Fault> faults;
  const std::lock_guard<std::mutex> lock(mutex);
  const char* const told = std::getenv("RINGRUN_STAND_IN_FAULT");
  const std::string now = told == nullptr ? "" : told;
  if (now != known) {
    known = now;
    faults = parse(now);
  }
  for (Fault& one : faults) {
    if (one.function != function || one.call == 0 || --one.call > 0) continue;
    if (one.what == "kill") ::kill(::getpid(), SIGKILL);
    return one.what;
  }
  return "";
}

inline bool isNumber(const std::string& text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos; }

[[noreturn]] inline void hang() {
  for (;;) ::pause();
}

}  // namespace stand_in

#define STAND_IN_EXPORT extern "C" __attribute__((visibility("default")))

// What libnccl's stand-in needs of libcuda's.
struct StandInStream;
using StandInEnqueue = void (*)(StandInStream* stream, std::function<void()>* task);
using StandInHostAddress = void* (*)(const void* onDevice, std::size_t bytes);
