#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace ringrun {

// Header and data as the two parts of one system call, without the first `done` bytes. Returns the number of parts.
inline int remainingParts(iovec* parts, void* header, std::size_t headerBytes, void* data, std::size_t dataBytes,
                          std::size_t done) {
  int count = 0;
  if (done < headerBytes) {
    parts[count++] = {static_cast<std::uint8_t*>(header) + done, headerBytes - done};
    done = headerBytes;
  }
  const std::size_t dataDone = done - headerBytes;
  if (dataDone < dataBytes) parts[count++] = {static_cast<std::uint8_t*>(data) + dataDone, dataBytes - dataDone};
  return count;
}

}  // namespace ringrun
