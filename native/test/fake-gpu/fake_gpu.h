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

// Shared by the fakes of NVIDIA's libraries, a folder each, which test the code above them on a machine without a GPU. GPU memory
// is host memory, a stream is a thread, a kernel is compiled by g++, and ranks exchange bytes over local sockets. The fakes
// compute what the real libraries compute, and are strict about how they are called.
//
// RINGRUN_FAKE_GPU_FAULT=FUNCTION:CALL:FAULT[,…]: the CALL-th call of that function, counted from 1, fails. FAULT is the
// number that it returns, `hang` (the call or its operation never ends), `async=NUMBER` (it succeeds, and the communicator
// reports that error from then on), or `kill` (the process ends there).
// RINGRUN_FAKE_GPU_LOG=FILE: receives one line per call.
// RINGRUN_FAKE_GPU_BUSY_MS: milliseconds for which the default stream is busy when it is first used.

namespace fake_gpu {

struct Fault {
  std::string function;
  int call = 0;  // remaining calls until the fault; 0 once it is over
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
    const char* const path = std::getenv("RINGRUN_FAKE_GPU_LOG");
    return path == nullptr || path[0] == '\0' ? -1 : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }();
  if (file < 0) return;
  const std::string line = std::string(function) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
}

// The fault of this call; empty for none. Calls are counted from the last change of the variable, because a
// test may set it several times in one process.
inline std::string faultOf(const char* function) {
  log(function);
  static std::mutex mutex;
  static std::string known;
  static std::vector<Fault> faults;
  const std::lock_guard<std::mutex> lock(mutex);
  const char* const value = std::getenv("RINGRUN_FAKE_GPU_FAULT");
  const std::string current = value == nullptr ? "" : value;
  if (current != known) {
    known = current;
    faults = parse(current);
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

}  // namespace fake_gpu

#define FAKE_GPU_EXPORT extern "C" __attribute__((visibility("default")))

// Functions of the fake driver that the other fakes call.
struct FakeStream;
using FakeEnqueue = int (*)(FakeStream* stream, std::function<void()>* task);
using FakeIsCapturing = int (*)(FakeStream* stream);
using FakeHostAddress = void* (*)(const void* onDevice, std::size_t bytes);
