#pragma once

#include <cstddef>

#include "onnxruntime/memory_pool.h"

namespace ringrun::ort {

// Elements that an operator needs during one run, in the memory of all sessions: operators and values take turns in it. Memory
// that each operator kept for itself took 60 MB of a step of ResNet-18. The elements are arbitrary. Throws std::bad_alloc.
template <typename T>
class Scratch {
 public:
  explicit Scratch(std::size_t count) : block_(allocateScratch(count * sizeof(T))) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { freeScratch(block_); }

  // Aligned to a cache line.
  T* data() const { return static_cast<T*>(block_); }

 private:
  void* block_;
};

}  // namespace ringrun::ort
