#include "base/launcher_watch.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "base/deadline.h"
#include "base/run_with_timeout.h"
#include "base/thread_scheduling.h"
#include "base/unique_fd.h"
#include "base/write_line.h"

namespace ringrun {
namespace {

// The reader of stderr may have ended with the launcher, or be blocked, and a file system may hang.
constexpr Milliseconds kMaxLastWords{200};

// Milliseconds on the clock of host-time.ts.
std::int64_t hostTime() {
  return std::chrono::duration_cast<Milliseconds>(Clock::now().time_since_epoch()).count();
}

std::int64_t wallTime() {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Reads lines with the end of a lease, of which the pipe may split one.
class Leases {
 public:
  void append(const char* text, std::size_t bytes) {
    rest_.append(text, bytes);
    const std::size_t last = rest_.rfind('\n');
    if (last == std::string::npos) return;
    const std::size_t before = last == 0 ? std::string::npos : rest_.rfind('\n', last - 1);
    end_ = std::strtoll(rest_.c_str() + (before == std::string::npos ? 0 : before + 1), nullptr, 10);
    rest_.erase(0, last + 1);
  }

  // For poll(): −1 without a lease, which lasts forever.
  int leftMs() const {
    if (!end_) return -1;
    return static_cast<int>(std::clamp<std::int64_t>(*end_ - hostTime(), 0, std::numeric_limits<int>::max()));
  }

 private:
  std::string rest_;
  std::optional<std::int64_t> end_;
};

enum class End { Launcher, Lease };

// Waits for the end. Messages that arrived while this process was stopped count before the time does.
End awaitEnd(int descriptor) {
  Leases leases;
  std::array<char, 4096> chunk{};
  while (true) {
    pollfd interest{descriptor, POLLIN, 0};
    const int ready = ::poll(&interest, 1, leases.leftMs());
    if (ready == 0 && ::poll(&interest, 1, 0) == 0 && leases.leftMs() == 0) return End::Lease;
    if (interest.revents == 0) continue;
    const ssize_t got = ::read(descriptor, chunk.data(), chunk.size());
    if (got > 0) leases.append(chunk.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return End::Launcher;
  }
}

int removeEntry(const char* path, const struct stat*, int, FTW*) { return std::remove(path); }

void removeFolder(const std::string& folder) {
  constexpr int kOpenFolders = 8;
  ::nftw(folder.c_str(), removeEntry, kOpenFolders, FTW_DEPTH | FTW_PHYS);
}

// A reader finds a complete record or none, as with writeRecord of error-record.ts.
void writeRecord(const LauncherWatch& watch) {
  const std::string temporary = watch.recordFile + "." + std::to_string(::getpid()) + ".tmp";
  const std::string time = ",\"time\":" + std::to_string(wallTime()) + ",\"hostTime\":" + std::to_string(hostTime()) + "}\n";
  const std::string text = watch.record.substr(0, watch.record.rfind('}')) + time;
  const UniqueFd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return;
  static_cast<void>(std::rename(temporary.c_str(), watch.recordFile.c_str()));
}

void sayLastWords(const LauncherWatch& watch, End end) {
  if (end == End::Launcher && !watch.folder.empty()) removeFolder(watch.folder);
  if (end == End::Lease && !watch.recordFile.empty()) writeRecord(watch);
  writeLine(end == End::Launcher ? watch.launcherEnded : watch.leaseExpired);
}

void run(const LauncherWatch& watch) {
  nameThread("ringrun-watch");
  const End end = awaitEnd(watch.descriptor);
  try {
    runWithTimeout(kMaxLastWords, [watch, end] { sayLastWords(watch, end); });
  } catch (const std::exception&) {
    // Without memory or a thread, there are no last words.
  }
  // The launcher started this process as the leader of a process group.
  ::kill(-::getpid(), SIGKILL);
}

}  // namespace

void watchLauncher(LauncherWatch watch) {
  std::thread([watch = std::move(watch)] { run(watch); }).detach();
}

}  // namespace ringrun
