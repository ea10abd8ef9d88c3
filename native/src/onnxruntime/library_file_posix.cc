#include "onnxruntime/library_file.h"

namespace ringrun::ort {

// dyld checks the processor and the signature of a file and reports an error.
std::string problemOfLibraryFile(const std::string&) { return ""; }

}  // namespace ringrun::ort
