#include "base/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

namespace ringrun {

std::string pathOfLibrary(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0') return map->l_name;
  return name;
}

}  // namespace ringrun
