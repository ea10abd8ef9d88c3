#pragma once

#include <string>

namespace ringrun::ort {

// Returns the problem of a file that must not be passed to dlopen, as a predicate such as "is truncated", or "". Loading
// a shared library that ends before its segments do, as after an interrupted download, ends the process with SIGBUS.
// For a library of another processor, glibc reports a missing file. All other files fail to load with a reason.
std::string problemOfLibraryFile(const std::string& path);

}  // namespace ringrun::ort
