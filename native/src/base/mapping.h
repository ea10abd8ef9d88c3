#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrun {

// Owns one range of mapped memory, zeroed when fresh, and unmaps it.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  // Memory of this process alone.
  static Mapping anonymous(std::size_t bytes);

  // The file behind `fd`, shared with every process that maps it. `fd` may be closed afterwards.
  static Mapping shared(int fd, std::size_t bytes);

  std::uint8_t* data() const { return data_; }

  // Makes the pages of [begin, begin + length) present and writable now, so that the first use costs no page faults.
  // Kernels that cannot (before 5.14) leave them to be faulted in; not enough memory is a Failure.
  void populate(std::size_t begin, std::size_t length) const;

 private:
  Mapping(std::uint8_t* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  std::uint8_t* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace ringrun
