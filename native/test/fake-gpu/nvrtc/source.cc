#include "nvrtc/source.h"

#include <regex>
#include <sstream>

namespace fake_nvrtc {
namespace {

// Comments become spaces, so that positions and lines stay.
std::string withoutComments(const std::string& source) {
  std::string text = source;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '/' || (text[i + 1] != '/' && text[i + 1] != '*')) continue;
    const bool isLine = text[i + 1] == '/';
    const std::size_t found = isLine ? text.find('\n', i) : text.find("*/", i + 2);
    const std::size_t end = found == std::string::npos ? text.size() : found + (isLine ? 0 : 2);
    for (; i < end; ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
    --i;
  }
  return text;
}

// The index behind the parenthesis that closes the one at `open`.
std::size_t closing(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1;
  }
  return text.size();
}

std::string lastWord(const std::string& text) {
  std::smatch found;
  return std::regex_search(text, found, std::regex("(\\w+)\\s*$")) ? found[1].str() : "";
}

}  // namespace

std::vector<KernelName> kernelsIn(const std::string& source) {
  const std::string text = withoutComments(source);
  const std::string keyword = "__global__";
  std::vector<KernelName> kernels;
  for (std::size_t at = text.find(keyword); at != std::string::npos; at = text.find(keyword, at)) {
    at += keyword.size();
    KernelName kernel;
    std::size_t open = text.find('(', at);
    if (open == std::string::npos) break;
    if (lastWord(text.substr(at, open - at)) == "__launch_bounds__") {
      const std::size_t end = closing(text, open);
      const std::string bounds = text.substr(open + 1, end - open - 2);
      kernel.maxThreads = bounds.substr(0, bounds.find(','));
      at = end;
      open = text.find('(', at);
    }
    kernel.name = lastWord(text.substr(at, open - at));
    // A declaration ends with a semicolon.
    const std::size_t behind = text.find_first_not_of(" \t\n", closing(text, open));
    if (behind != std::string::npos && text[behind] == '{') kernels.push_back(kernel);
  }
  return kernels;
}

std::string translated(const std::string& source, const std::string& name, const std::vector<KernelName>& kernels) {
  // extern __shared__ float values[]; is an array of whatever size the launch has.
  static const std::regex dynamicShared("extern\\s+__shared__\\s+(__align__\\s*\\(\\s*\\w+\\s*\\)\\s*)?([\\w\\s]+?)\\s+(\\w+)\\s*\\[\\s*\\]\\s*;");
  const std::string replaced =
      std::regex_replace(source, dynamicShared, "$2* const $3 = static_cast<$2*>(fake_gpu_kernel::block->dynamicShared);");
  std::string text = "#include \"nvrtc/shim/kernel.h\"\n#line 1 \"" + name + "\"\n" + replaced + "\n#line 1 \"the list of kernels\"\n";
  text += "static constexpr fake_gpu_kernel::Kernel fakeGpuKernels[] = {\n";
  for (const KernelName& kernel : kernels) {
    const std::string limit = kernel.maxThreads.empty() ? "fake_gpu_kernel::kMaxThreads" : kernel.maxThreads;
    text += "    fake_gpu_kernel::Described<&" + kernel.name + ">::describe(\"" + kernel.name + "\", " + limit + "),\n";
  }
  text += "    {}};\nextern \"C\" const fake_gpu_kernel::Module fakeGpuModule;\n";
  text += "const fake_gpu_kernel::Module fakeGpuModule = {fake_gpu_kernel::kVersion, " + std::to_string(kernels.size()) +
          ", fakeGpuKernels, &fake_gpu_kernel::block, &fake_gpu_kernel::touchShared};\n";
  return text;
}

std::string messagesOf(const std::string& log, const std::string& source) {
  std::vector<std::string> lines;
  std::istringstream reader(source);
  for (std::string line; std::getline(reader, line);) lines.push_back(line);
  static const std::regex position("^([^:]+):(\\d+):\\d+: (.*)$");
  std::istringstream messages(log);
  std::string text;
  for (std::string message; std::getline(messages, message);) {
    std::smatch found;
    if (!std::regex_match(message, found, position)) {
      text += message + "\n";
      continue;
    }
    text += found[1].str() + "(" + found[2].str() + "): " + found[3].str() + "\n";
    const std::size_t number = std::stoul(found[2]);
    if (number <= lines.size()) text += "  " + lines[number - 1] + "\n";
  }
  return text;
}

}  // namespace fake_nvrtc
