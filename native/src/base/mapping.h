#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrun {

// Owns and unmaps a range of mapped memory. New memory is zeroed.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  // Private memory of this process.
  static Mapping anonymous(std::size_t bytes);

  // Maps the file `fd` shared with other processes. `fd` may be closed afterwards.
  static Mapping shared(int fd, std::size_t bytes);

  // Maps the file `fd` copy-on-write: writes change the memory of this process, never the file. `bytes` must not
  // exceed the size of the file. `fd` may be closed afterwards.
  static Mapping copyOnWrite(int fd, std::size_t bytes);

  std::uint8_t* data() const { return data_; }

  // Makes the pages of [begin, begin + length) present and writable, so that the first use causes no page
  // faults. Does nothing on Linux before 5.14 and on other systems. Throws Failure if there is not enough memory.
  void populate(std::size_t begin, std::size_t length) const;

 private:
  Mapping(std::uint8_t* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  std::uint8_t* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace ringrun
