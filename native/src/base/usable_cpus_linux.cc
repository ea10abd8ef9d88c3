#include "base/usable_cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace ringrun {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// The contents of a kernel file (/proc, /sys), at most 64 KiB of it; empty if it cannot be read.
std::string readKernelFile(const std::string& path) {
  constexpr std::size_t kMaxBytes = 64 * 1024;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return "";
  std::string text;
  char bytes[4096];
  while (text.size() < kMaxBytes) {
    const ssize_t got = ::read(fd.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(bytes, static_cast<std::size_t>(got));
  }
  return text;
}

int cpusOfAffinity() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

// cpu.max holds "quota period" in microseconds, or "max period".
double quotaOfVersion2(const std::string& folder) {
  std::istringstream file(readKernelFile(folder + "/cpu.max"));
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return kUnlimited;
  return std::stod(quota) / period;
}

double quotaOfVersion1(const std::string& folder) {
  double quota = -1;
  double period = 0;
  std::istringstream(readKernelFile(folder + "/cpu.cfs_quota_us")) >> quota;
  std::istringstream(readKernelFile(folder + "/cpu.cfs_period_us")) >> period;
  return quota > 0 && period > 0 ? quota / period : kUnlimited;
}

// A limit may be set at any level, so all folders from the process's own to the root of the hierarchy count.
template <typename Quota>
double minQuota(const std::string& root, std::string path, Quota quotaOf) {
  double least = quotaOf(root);
  while (path.size() > 1) {
    least = std::min(least, quotaOf(root + path));
    path.resize(path.rfind('/'));
  }
  return least;
}

// A line of /proc/self/cgroup is "id:controllers:path"; version 2 has id 0 and no controllers.
double quotaOfCgroup() {
  double least = kUnlimited;
  std::istringstream file(readKernelFile("/proc/self/cgroup"));
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, minQuota("/sys/fs/cgroup", path, quotaOfVersion2));
    if (controllers.find(",cpu,") != std::string::npos) {
      least = std::min(least, minQuota("/sys/fs/cgroup/cpu", path, quotaOfVersion1));
    }
  }
  return least;
}

}  // namespace

int usableCpus() {
  const double quota = quotaOfCgroup();
  const int cpus = std::max(1, cpusOfAffinity());
  return quota == kUnlimited ? cpus : std::clamp(static_cast<int>(std::floor(quota)), 1, cpus);
}

}  // namespace ringrun
