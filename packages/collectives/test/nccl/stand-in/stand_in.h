#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

// What both stand-ins share: libcuda.cc stands in for the CUDA driver and libnccl.cc for NCCL, so that everything above
// them can be tried on a machine without a GPU. They are neither: memory "on the GPU" is memory of the host, a "stream" is
// a thread, and ranks exchange bytes over sockets of this machine. What they are strict about is how they are called.
//
// RINGRUN_STAND_IN_FAULT=FUNCTION:CALL:WHAT lets that call of that function, counted from 1, fail: WHAT is the number it
// returns, or `hang` (it, or what it has begun, never ends), or `async=NUMBER` (it succeeds, and the communicator reports
// that error from then on), or `kill` (the process ends there). RINGRUN_STAND_IN_LOG=FILE: a line for every call.

namespace stand_in {

struct Fault {
  std::string function;
  int call = 0;
  std::string what;
};

inline const Fault& fault() {
  static const Fault* const parsed = [] {
    auto* const one = new Fault;
    const char* const text = std::getenv("RINGRUN_STAND_IN_FAULT");
    if (text == nullptr || text[0] == '\0') return one;
    const std::string given = text;
    const std::size_t first = given.find(':');
    const std::size_t second = given.find(':', first + 1);
    one->function = given.substr(0, first);
    one->call = std::atoi(given.substr(first + 1, second - first - 1).c_str());
    one->what = given.substr(second + 1);
    return one;
  }();
  return *parsed;
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

// What is to go wrong in this call; empty where nothing is. Counts the calls.
inline std::string faultOf(const char* function) {
  log(function);
  if (fault().function != function) return "";
  static std::mutex mutex;
  static int calls = 0;
  const std::lock_guard<std::mutex> lock(mutex);
  if (++calls != fault().call) return "";
  if (fault().what == "kill") ::kill(::getpid(), 9);
  return fault().what;
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
