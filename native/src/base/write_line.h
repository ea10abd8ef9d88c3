#pragma once

#include <string>

namespace ringrun {

// Writes a line to stderr in a single write, so that lines of several threads and processes do not mix. If stderr is
// blocked, as with a stopped terminal, the line is dropped instead of delaying the operation.
void writeLine(const std::string& line);

}  // namespace ringrun
