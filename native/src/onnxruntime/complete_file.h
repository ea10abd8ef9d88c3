#pragma once

#include <string>

namespace ringrun::ort {

// False if a shared library ends before its segments do, as after an interrupted download. Loading such a file ends the
// process with SIGBUS. True for everything that is no ELF file of this word size: loading that fails with a reason.
bool isComplete(const std::string& path);

}  // namespace ringrun::ort
