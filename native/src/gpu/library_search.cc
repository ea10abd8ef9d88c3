#include "gpu/library_search.h"

#include <glob.h>

#include <cstdlib>

namespace ringrun {
namespace {

using Names = std::vector<std::string>;

std::string variable(const char* name) {
  const char* const value = name == nullptr ? nullptr : std::getenv(name);
  return value == nullptr ? "" : value;
}

// Adds the files that match a pattern, if any.
void addMatches(Names& names, const std::string& pattern) {
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) names.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
}

// pip installs into a folder with the interpreter's version: python3.10, python3.12.
void addPythonPackages(Names& names, const std::string& root, const std::string& pathInPackages) {
  for (const char* const packages : {"site-packages", "dist-packages"}) {
    addMatches(names, root + "/lib/python3*/" + packages + "/" + pathInPackages);
  }
}

void addFile(Names& names, const LibrarySearch& search, const std::string& file) {
  names.push_back(file);
  const std::string conda = variable("CONDA_PREFIX");
  const auto addFolder = [&](const std::string& root, const char* folder) {
    if (!root.empty()) addMatches(names, root + folder + "/" + file);
  };
  addFolder(variable(search.homeVariable), "/lib");
  addFolder(conda, "/lib");
  addFolder(variable("CUDA_HOME"), "/lib64");
  addFolder("/usr/local/cuda", "/lib64");
  const std::string home = variable("HOME");
  for (const std::string& root : {variable("VIRTUAL_ENV"), conda, home.empty() ? "" : home + "/.local", std::string("/usr/local"), std::string("/usr")}) {
    if (root.empty()) continue;
    for (const std::string& wheel : search.wheels) addPythonPackages(names, root, wheel + "/" + file);
  }
}

}  // namespace

std::vector<std::string> candidatesOf(const LibrarySearch& search) {
  const std::string named = variable(search.variable);
  if (!named.empty()) return {named};
  Names names;
  for (const std::string& file : search.files) addFile(names, search, file);
  return names;
}

std::vector<std::string> cudaCandidates() {
  const std::string named = variable("RINGRUN_CUDA_LIBRARY");
  if (!named.empty()) return {named};
  Names names{"libcuda.so.1"};
  for (const char* const folder : {"/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/usr/local/cuda/compat"}) {
    addMatches(names, std::string(folder) + "/libcuda.so.1");
  }
  return names;
}

}  // namespace ringrun
