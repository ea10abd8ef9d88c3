#include "nvrtc/compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

extern char** environ;

namespace fake_nvrtc {
namespace {

std::string variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || value[0] == '\0' ? otherwise : value;
}

std::vector<std::string> wordsOf(const std::string& text) {
  std::istringstream reader(text);
  std::vector<std::string> words;
  for (std::string word; reader >> word;) words.push_back(word);
  return words;
}

std::string contentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// FNV-1a with two offsets.
std::string hashOf(const std::string& text) {
  std::uint64_t hashes[] = {0xcbf29ce484222325u, 0x84222325cbf29ce4u};
  for (const char character : text) {
    for (std::uint64_t& hash : hashes) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3u;
  }
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(hashes[0]), static_cast<unsigned long long>(hashes[1]));
  return digits;
}

// A path of this process alone.
std::string temporaryOf(const std::string& path) {
  static std::atomic<int> count{0};
  return path + "." + std::to_string(::getpid()) + "." + std::to_string(++count);
}

// The folder of the fakes' sources, which has kernel_abi.h and nvrtc/shim.
std::string sourceFolder() { return FAKE_GPU_FOLDER; }

int run(const std::vector<std::string>& words, const std::string& logFile) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // A preloaded sanitizer is for this process, not for the compiler.
  std::vector<char*> environment;
  for (char** one = environ; *one != nullptr; ++one) {
    if (std::strncmp(*one, "LD_PRELOAD=", 11) != 0) environment.push_back(*one);
  }
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, logFile.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

void keepSource(const std::string& source, const std::vector<std::string>& options) {
  const std::string folder = variable("RINGRUN_FAKE_NVRTC_SOURCES", "");
  if (folder.empty()) return;
  std::string text = source + "\n//";
  for (const std::string& option : options) text += " " + option;
  const std::string path = folder + "/" + hashOf(text) + ".cu";
  if (::access(path.c_str(), F_OK) == 0) return;
  const std::string own = temporaryOf(path);
  std::ofstream(own) << text << "\n";
  ::rename(own.c_str(), path.c_str());
}

Compiled compile(const std::string& source) {
  const std::string flags = variable("RINGRUN_FAKE_NVRTC_FLAGS", "");
  const std::string compiler = variable("CXX", "g++");
  const std::string cache = variable("RINGRUN_FAKE_NVRTC_CACHE", "/tmp");
  const std::string base = cache + "/" + hashOf(source + "\n" + flags + "\n" + compiler);
  const std::string known = contentsOf(base + ".so");
  if (!known.empty()) return {true, "", known};
  const std::string own = temporaryOf(base);
  std::ofstream(own + ".cc") << source;
  std::vector<std::string> words = wordsOf(compiler);
  for (const char* const word : {"-std=c++17", "-O2", "-fPIC", "-shared", "-w", "-fno-math-errno", "-ffp-contract=off", "-fno-gnu-unique", "-Wl,-Bsymbolic"}) {
    words.push_back(word);
  }
  for (const std::string& word : wordsOf(flags)) words.push_back(word);
  words.insert(words.end(), {"-I" + sourceFolder(), own + ".cc", "-o", own + ".so"});
  // Kernels use nothing else, and without the C++ library a small one compiles in three quarters of the time. Sanitizers need
  // their libraries.
  if (flags.empty()) words.insert(words.end(), {"-nostdlib", "-lm", "-lgcc"});
  const int status = run(words, own + ".log");
  const std::string log = contentsOf(own + ".log");
  Compiled compiled{status == 0, log, status == 0 ? contentsOf(own + ".so") : ""};
  if (compiled.succeeded) ::rename((own + ".so").c_str(), (base + ".so").c_str());
  for (const char* const ending : {".cc", ".log"}) ::unlink((own + ending).c_str());
  if (status < 0) compiled.log = "could not run " + compiler;
  return compiled;
}

}  // namespace fake_nvrtc
