#include "base/operation.h"

#include <cstring>

namespace ringrun {
namespace {

const char* nameOf(Op op) {
  switch (op) {
    case Op::Barrier: return "barrier";
    case Op::AllReduce: return "allReduce";
    case Op::Broadcast: return "broadcast";
    case Op::Allocate: return "allocate";
    case Op::Destroy: return "destroy";
    case Op::Connect: return "connect";
  }
  return "unknown operation";
}

const char* nameOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::None: return "none";
    case ReduceOp::Sum: return "SUM";
    case ReduceOp::Avg: return "AVG";
  }
  return "unknown reduction";
}

const char* nameOf(DType dtype) {
  switch (dtype) {
    case DType::None: return "none";
    case DType::Float32: return "float32";
  }
  return "unknown dtype";
}

std::string withThousandsSeparated(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

}  // namespace

std::size_t bytesPerElement(DType dtype) {
  switch (dtype) {
    case DType::None: return 0;
    case DType::Float32: return 4;
  }
  return 0;
}

bool operator==(const Fingerprint& a, const Fingerprint& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

std::string describe(const Fingerprint& fingerprint) {
  std::string text = nameOf(fingerprint.op);
  if (fingerprint.op != Op::Connect) text += " #" + std::to_string(fingerprint.sequence);
  if (fingerprint.dtype == DType::None) return text;
  text += std::string(" (") + nameOf(fingerprint.dtype) + ", " + withThousandsSeparated(fingerprint.count) + " elements";
  if (fingerprint.op == Op::AllReduce) text += std::string(", ") + nameOf(fingerprint.reduceOp);
  if (fingerprint.op == Op::Broadcast) text += ", from rank " + std::to_string(fingerprint.root);
  return text + ")";
}

}  // namespace ringrun
