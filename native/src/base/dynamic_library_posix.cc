#include "base/dynamic_library.h"

namespace ringrun {

std::string pathOfLibrary(void*, const std::string& name) { return name; }

}  // namespace ringrun
