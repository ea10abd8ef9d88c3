#include "base/processor.h"

namespace ringrun {

std::uint32_t currentProcessor() { return kUnknownProcessor; }

void moveToAnotherProcessor() {}

bool requestTiles() { return false; }

}  // namespace ringrun
