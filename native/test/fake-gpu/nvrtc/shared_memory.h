#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace fake_nvrtc {

// Bytes of static shared memory of a kernel, from the symbols of the compiled library: thread-local variables of the kernel itself,
// and of device functions, any of which it may call. `_ZZ6kernelE6values` is `values` in `kernel`.
inline std::uint64_t sharedBytesOf(const std::string& library, const std::string& kernel, const std::string& allKernels) {
  const auto* const file = reinterpret_cast<const std::uint8_t*>(library.data());
  Elf64_Ehdr header;
  std::memcpy(&header, file, sizeof header);
  const auto section = [&](std::size_t index) {
    Elf64_Shdr one;
    std::memcpy(&one, file + header.e_shoff + index * header.e_shentsize, sizeof one);
    return one;
  };
  const std::string own = "_ZZ" + std::to_string(kernel.size()) + kernel + "E";
  const std::string ownOfC = "_ZZ" + kernel + "E";
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = section(symbols.sh_link);
    for (std::uint64_t offset = 0; offset < symbols.sh_size; offset += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, file + symbols.sh_offset + offset, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS) continue;
      const std::string name = reinterpret_cast<const char*>(file + names.sh_offset + symbol.st_name);
      if (name.compare(0, 3, "_ZZ") != 0) continue;
      const bool isOwn = name.compare(0, own.size(), own) == 0 || name.compare(0, ownOfC.size(), ownOfC) == 0;
      // The function's name is between _ZZ, with its length for C++ functions, and E.
      std::size_t begin = 3;
      while (begin < name.size() && name[begin] >= '0' && name[begin] <= '9') ++begin;
      const std::string function = " " + name.substr(begin, name.find('E', begin) - begin) + " ";
      const bool isOfOtherKernel = !isOwn && allKernels.find(function) != std::string::npos;
      if (!isOfOtherKernel) bytes += symbol.st_size;
    }
  }
  return bytes;
}

}  // namespace fake_nvrtc
