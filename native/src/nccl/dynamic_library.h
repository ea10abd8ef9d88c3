#pragma once

#include <string>
#include <vector>

namespace ringrun {

// A place where a library was looked for, and why it was not taken; empty for the one that was.
struct Attempt {
  std::string place;
  std::string reason;
};

// A shared library that is opened while the program runs, so that neither building nor starting needs it. Stays loaded
// until the process ends: its threads may outlive whoever uses it.
class DynamicLibrary {
 public:
  // Opens the first of `candidates`, names or paths, that can be.
  explicit DynamicLibrary(const std::vector<std::string>& candidates);

  bool isOpen() const { return handle_ != nullptr; }

  // Where it really lies; empty when it is not open.
  const std::string& path() const { return path_; }

  // In the order in which they were made.
  const std::vector<Attempt>& attempts() const { return attempts_; }

  // Null when it has none of that name.
  void* find(const char* name) const;

 private:
  void* handle_ = nullptr;
  std::string path_;
  std::vector<Attempt> attempts_;
};

template <typename Signature>
class Function;

// A function of a library, with the signature that its header gives it. Null when the library has none of that name.
template <typename Result, typename... Arguments>
class Function<Result(Arguments...)> {
 public:
  Function(const DynamicLibrary& library, const char* name)
      : name_(name), address_(reinterpret_cast<Result (*)(Arguments...)>(library.find(name))) {}

  explicit operator bool() const { return address_ != nullptr; }
  Result operator()(Arguments... arguments) const { return address_(arguments...); }
  const char* name() const { return name_; }

 private:
  const char* name_;
  Result (*address_)(Arguments...);
};

}  // namespace ringrun
