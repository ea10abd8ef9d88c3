#pragma once

#include <string>
#include <vector>

namespace ringrun {

// A place tried for a library, and the reason why it failed; empty for the one that was loaded.
struct Attempt {
  std::string place;
  std::string reason;
};

// A shared library loaded at run time, so that neither building nor starting requires it. Stays loaded until
// the process ends, because its threads may outlive its users.
class DynamicLibrary {
 public:
  // Opens the first of `candidates` (names or paths) that can be opened.
  explicit DynamicLibrary(const std::vector<std::string>& candidates);

  bool isOpen() const { return handle_ != nullptr; }

  // Path of the loaded file; empty if none was loaded.
  const std::string& path() const { return path_; }

  // In the order of the attempts.
  const std::vector<Attempt>& attempts() const { return attempts_; }

  // Null if the library has no such symbol.
  void* find(const char* name) const;

 private:
  void* handle_ = nullptr;
  std::string path_;
  std::vector<Attempt> attempts_;
};

// The path of the file from which dlopen() loaded a library, or `name` if the system does not report it.
std::string pathOfLibrary(void* handle, const std::string& name);

template <typename Signature>
class Function;

// A function of a library, with the signature of its header. Null if the library lacks it.
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
