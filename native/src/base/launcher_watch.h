#pragma once

#include <string>

namespace ringrun {

// What a worker needs to end when its launcher has ended, or has not renewed the lease of its node in time.
struct LauncherWatch {
  int descriptor = -1;        // closes with the launcher, which writes the ends of leases (launcher/src/worker/launcher-pipe.ts)
  std::string launcherEnded;  // the line for stderr
  std::string leaseExpired;   // the same
  std::string folder;         // of the launcher, which can no longer remove it; may be empty
  std::string recordFile;     // for `record`; may be empty
  std::string record;         // a JSON object, which is written with the time of the end if a lease has expired
};

// Starts a thread that kills the process group of this process in these two cases. It needs no JavaScript, which training may
// block, and no time of the start. Throws std::system_error if there is no thread.
void watchLauncher(LauncherWatch watch);

}  // namespace ringrun
