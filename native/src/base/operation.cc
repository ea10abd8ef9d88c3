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
    case Op::Reduce: return "reduce";
    case Op::ReduceScatter: return "reduceScatter";
    case Op::AllGather: return "allGather";
    case Op::Gather: return "gather";
    case Op::Scatter: return "scatter";
    case Op::AllToAll: return "allToAll";
    case Op::MonitoredBarrier: return "monitoredBarrier";
    case Op::Send: return "send";
    case Op::Receive: return "recv";
    case Op::CopyToDevice: return "copyFromHost";
    case Op::CopyToHost: return "copyToHost";
    case Op::AllReduceCoalesced: return "allReduceCoalesced";
    case Op::NewGroup: return "newGroup";
    case Op::GpuStep: return "gpuStep";
    case Op::AllReduceQuantized: return "allReduceQuantized";
    case Op::MeasureLinks: return "measureLinks";
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
    case DType::Float16: return "float16";
    case DType::BFloat16: return "bfloat16";
  }
  return "unknown dtype";
}

}  // namespace

std::string withThousandsSeparated(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

std::size_t bytesPerElement(DType dtype) {
  switch (dtype) {
    case DType::None: return 0;
    case DType::Int8:
    case DType::UInt8: return 1;
    case DType::Float16:
    case DType::BFloat16: return 2;
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

namespace {

// Operations of one or two ranks have no number among the collectives.
bool isNumbered(Op op) {
  return op != Op::Connect && op != Op::Send && op != Op::Receive && op != Op::CopyToDevice && op != Op::CopyToHost;
}

// "from rank 3" for rooted operations and messages, else "".
std::string rootOf(const Fingerprint& fingerprint) {
  const std::string rank = "rank " + std::to_string(fingerprint.root);
  switch (fingerprint.op) {
    case Op::Broadcast:
    case Op::Scatter: return "from " + rank;
    case Op::Reduce:
    case Op::Gather: return "to " + rank;
    case Op::Send: return "to " + rank + ", tag " + std::to_string(fingerprint.sequence);
    case Op::Receive:
      return "from " + (fingerprint.root == kAnyRank ? "any rank" : rank) + ", tag " + std::to_string(fingerprint.sequence);
    default: return "";
  }
}

// True if the arrays of all ranks have the same length, which is then the fingerprint's count.
bool hasOneLength(Op op) {
  return op != Op::ReduceScatter && op != Op::AllGather && op != Op::Gather && op != Op::Scatter && op != Op::AllToAll &&
         op != Op::AllReduceCoalesced && op != Op::GpuStep;
}

// "float32, 3 arrays". An operation on no arrays has no dtype.
std::string elementsOf(const Fingerprint& fingerprint) {
  const std::string arrays = std::to_string(fingerprint.root) + (fingerprint.root == 1 ? " array" : " arrays");
  if (fingerprint.dtype == DType::None) return arrays;
  std::string text = nameOf(fingerprint.dtype);
  if (fingerprint.op == Op::AllReduceCoalesced) text += ", " + arrays;
  if (fingerprint.op == Op::GpuStep) text += ", " + std::to_string(fingerprint.root) + (fingerprint.root == 1 ? " collective" : " collectives");
  if (hasOneLength(fingerprint.op)) text += ", " + withThousandsSeparated(fingerprint.count) + " elements";
  return text;
}

}  // namespace

std::string nameAndNumberOf(const Fingerprint& fingerprint) {
  const std::string name = nameOf(fingerprint.op);
  return isNumbered(fingerprint.op) ? name + " #" + std::to_string(fingerprint.sequence) : name;
}

bool needsEveryRank(Op op) {
  switch (op) {
    case Op::Barrier:
    case Op::MonitoredBarrier:
    case Op::AllReduce:
    case Op::AllReduceCoalesced:
    case Op::AllReduceQuantized:
    case Op::GpuStep:
    case Op::ReduceScatter:
    case Op::AllGather:
    case Op::AllToAll:
    case Op::NewGroup:
    case Op::MeasureLinks:
    case Op::Allocate: return true;
    default: return false;
  }
}

std::string describe(const Fingerprint& fingerprint) {
  std::string text = nameAndNumberOf(fingerprint);
  if (fingerprint.dtype == DType::None && fingerprint.op != Op::AllReduceCoalesced) return text;
  if (fingerprint.op == Op::MeasureLinks) return text;
  text += " (" + elementsOf(fingerprint);
  if (fingerprint.reduceOp != ReduceOp::None) text += std::string(", ") + nameOf(fingerprint.reduceOp);
  if (fingerprint.op == Op::AllReduceQuantized) text += ", " + std::to_string(fingerprint.root) + " bits";
  if (fingerprint.onDevice != 0) text += ", on GPU";
  const std::string root = rootOf(fingerprint);
  return text + (root.empty() ? "" : ", " + root) + ")";
}

}  // namespace ringrun
