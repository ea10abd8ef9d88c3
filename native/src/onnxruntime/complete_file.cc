#include "onnxruntime/complete_file.h"

#if defined(__linux__)
#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>
#endif

namespace ringrun::ort {

#if defined(__linux__)
bool isComplete(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return true;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr))) return true;
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(file.tellg());
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return false;
    if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > size) return false;
  }
  return true;
}
#else
bool isComplete(const std::string&) { return true; }
#endif

}  // namespace ringrun::ort
