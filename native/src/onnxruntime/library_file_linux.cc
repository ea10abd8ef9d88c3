#include "onnxruntime/library_file.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>

namespace ringrun::ort {

namespace {

#if defined(__x86_64__)
constexpr ElfW(Half) kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr ElfW(Half) kMachine = EM_AARCH64;
#else
constexpr ElfW(Half) kMachine = EM_NONE;  // not compared
#endif

std::string nameOf(ElfW(Half) machine) {
  switch (machine) {
    case EM_X86_64: return "x64";
    case EM_AARCH64: return "arm64";
    default: return "machine " + std::to_string(machine);
  }
}

}  // namespace

std::string problemOfLibraryFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return "";
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr))) return "";
  if (kMachine != EM_NONE && header.e_machine != kMachine) {
    return "is compiled for " + nameOf(header.e_machine) + ", expected " + nameOf(kMachine);
  }
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(file.tellg());
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return "is truncated";
    if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > size) return "is truncated";
  }
  return "";
}

}  // namespace ringrun::ort
