#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/dynamic_library.h"
#include "onnxruntime/c_api.h"
#include "onnxruntime/memory_pool.h"

namespace ringrun::ort {

// onnxruntime rejected a call. The message gives its reason.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// onnxruntime could not be loaded. The message gives the path and the reason.
class LibraryError : public Error {
 public:
  using Error::Error;
};

// An open libonnxruntime with the environment of this process.
class Library {
 public:
  // Opens the library at `path`, once per process and path. It stays open until the process ends, because its threads
  // do. Throws LibraryError if the file is missing, is not a library, or is a version without the required functions.
  static const Library& at(const std::string& path);

  const std::string& version() const { return version_; }
  const Environment* environment() const { return environment_; }
  const MemoryInfo* hostMemory() const { return hostMemory_; }
  // The memory of all sessions. Null if it is not available: then each session has its own arena.
  MemoryPool* memory() const { return allocator_.pool; }

  // Calls a function of the API that returns a status. Throws Error with the library's message.
  template <typename Function, typename... Arguments>
  void call(Arguments... arguments) const {
    if (Status* const status = Function::call(table_, arguments...)) fail(status);
  }

  // Calls a function of the API that cannot fail.
  template <typename Function, typename... Arguments>
  void release(Arguments... arguments) const {
    Function::call(table_, arguments...);
  }

 private:
  explicit Library(const std::string& path);
  [[noreturn]] void fail(Status* status) const;
  void registerPool();

  DynamicLibrary opened_;
  std::string version_;
  const Table* table_ = nullptr;
  Environment* environment_ = nullptr;
  MemoryInfo* hostMemory_ = nullptr;

  // Memory from the pool. If the pool is exhausted, from `others`, the library's malloc, which throws std::bad_alloc to
  // the library: its kernels do not expect null.
  struct PoolAllocator : Allocator {
    MemoryPool* pool = nullptr;
    Allocator* others;
    const MemoryInfo* memoryInfo;
  };
  PoolAllocator allocator_{};
};

// Owns an object of the library.
template <typename Object, typename Release>
class Owned {
 public:
  explicit Owned(const Library& library) : library_(&library) {}
  Owned(Owned&& other) noexcept : library_(other.library_), object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() { reset(); }

  Object* get() const { return object_; }

  // For library functions that create an object. Releases the previous one.
  Object** out() {
    reset();
    return &object_;
  }

  void reset() {
    if (object_ != nullptr) library_->release<Release>(std::exchange(object_, nullptr));
  }

 private:
  const Library* library_;
  Object* object_ = nullptr;
};

}  // namespace ringrun::ort
