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
    case ReduceOp::Product: return "PRODUCT";
    case ReduceOp::Min: return "MIN";
    case ReduceOp::Max: return "MAX";
    case ReduceOp::Band: return "BAND";
    case ReduceOp::Bor: return "BOR";
    case ReduceOp::Bxor: return "BXOR";
  }
  return "unknown reduction";
}

const char* nameOf(DType dtype) {
  switch (dtype) {
    case DType::None: return "none";
    case DType::Float32: return "float32";
    case DType::Float64: return "float64";
    case DType::Int8: return "int8";
    case DType::UInt8: return "uint8";
    case DType::Int32: return "int32";
    case DType::UInt32: return "uint32";
    case DType::Int64: return "int64";
    case DType::UInt64: return "uint64";
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
    case DType::Int8:
    case DType::UInt8: return 1;
    case DType::Float32:
    case DType::Int32:
    case DType::UInt32: return 4;
    case DType::Float64:
    case DType::Int64:
    case DType::UInt64: return 8;
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
