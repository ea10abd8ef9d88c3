#pragma once

#include <napi.h>

#include "base/operation.h"
#include "binding/elements.h"
#include "collectives/blocks.h"
#include "nccl/nccl.h"
#include "point_to_point/message.h"
#include "transport/connect/authentication.h"
#include "transport/connect/endpoint.h"

namespace ringrun {

// The C++ forms of the arguments of ProcessGroup's functions.

// A NativeEndpoint.
Endpoint endpointOf(const Napi::Object& object);

// A Uint8Array of 32 bytes; zeroes if undefined.
Key keyOf(const Napi::Value& value);

// A Uint8Array of 128 bytes.
NcclUniqueId uniqueIdOf(const Napi::Value& value);

inline ReduceOp reduceOpOf(const Napi::Value& number) { return static_cast<ReduceOp>(number.As<Napi::Number>().Uint32Value()); }

// The arrays of one operation: all on the GPU or all in host memory.
class Arrays {
 public:
  explicit Arrays(DType dtype) : dtype_(dtype) {}

  // No elements for null.
  Block block(const Napi::Value& array);
  Blocks blocks(const Napi::Value& list);

  bool onDevice() const { return onDevice_; }

  // The location that the caller declares; checked against the arrays, if any. Blocks without elements have none.
  bool onDevice(const Napi::Value& declared) const;

 private:
  DType dtype_;
  bool isKnown_ = false;
  bool onDevice_ = false;
};

// (tensor, dtype, rank, tag, timeoutMs). A receive from any rank has rank −1.
Message messageOf(Op op, const Napi::CallbackInfo& info);

// The object among the arguments, or an array of all of them.
Napi::Value retainedObjects(const Napi::CallbackInfo& info);

Fingerprint fingerprintOf(Op op, ReduceOp reduceOp, DType dtype, std::uint32_t root, std::uint64_t count);

}  // namespace ringrun
