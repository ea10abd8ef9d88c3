// The part of ProcessGroup for operations that other threads start.
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "binding/call_arguments.h"
#include "binding/prepared_operation.h"
#include "binding/process_group.h"
#include "binding/process_group_pending.h"

namespace ringrun {

// (tensor, dtype, reduceOp, timeoutMs, copy): an all-reduce that other threads start.
Napi::Value ProcessGroup::prepareAllReduce(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Work reduce = allReduceOf(info);
  const Elements input = elementsOf(info[0], dtypeOf(info[1]));
  Work work = [owner = requireAllocated(env, input), reduce = std::move(reduce)] { return reduce(); };
  if (!info[4].IsUndefined()) work = copyingFirst(env, input, elementsOf(info[4], input.dtype), std::move(work));
  return wrapOperation(env, std::make_shared<StartableOperation>(startingPoint_, std::move(work)));
}

// The memory of an operation that other threads start must live as long as the operation.
std::shared_ptr<const void> ProcessGroup::requireAllocated(Napi::Env env, const Elements& elements) const {
  if (auto owner = allocations_.ownerOf(elements.data)) return owner;
  throw Napi::TypeError::New(env, "expected memory of allocateSync");
}

// Copies the input, even in a failed group, which runs nothing.
ProcessGroup::Work ProcessGroup::copyingFirst(Napi::Env env, const Elements& input, const Elements& copy, Work work) {
  auto owner = requireAllocated(env, copy);
  if (copy.count != input.count) throw Napi::TypeError::New(env, "expected a copy of the same length");
  const std::size_t bytes = input.count * bytesPerElement(input.dtype);
  return [owner = std::move(owner), to = copy.data, from = input.data, bytes, work = std::move(work)] {
    std::memcpy(to, from, bytes);
    return work();
  };
}

// (op, length, timeoutMs): the sum of float32 arrays, or all of them, in memory that belongs to the operation.
Napi::Value ProcessGroup::prepareWithMemory(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto op = static_cast<Op>(info[0].As<Napi::Number>().Uint32Value());
  const auto length = static_cast<std::size_t>(info[1].As<Napi::Number>().Int64Value());
  const double timeoutMs = info[2].As<Napi::Number>();
  if (op != Op::AllReduce && op != Op::AllGather) throw Napi::TypeError::New(env, "expected allReduce or allGather");
  const bool gathers = op == Op::AllGather;
  const std::size_t ranks = gathers ? static_cast<std::size_t>(group_.size()) : 0;
  // This rank's elements, then those of all ranks.
  const auto memory = std::make_shared<std::vector<float>>((1 + ranks) * length);
  float* const own = memory->data();
  float* const received = gathers ? own + length : own;
  Exchange exchange;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    exchange.sends.push_back({own, length});
    exchange.receives.push_back({received + rank * length, length});
  }
  const Fingerprint request = fingerprintOf(op, gathers ? ReduceOp::None : ReduceOp::Sum, DType::Float32, 0, gathers ? 0 : length);
  Work work = workOf(placed(env, request, false), timeoutMs, [memory, exchange, gathers](Collectives& collectives, const Call& call) {
    if (gathers) return collectives.exchange(call, exchange);
    collectives.allReduce(call, memory->data());
  });
  const auto arrayOf = [&](float* begin, std::size_t count) {
    auto owner = std::make_unique<std::shared_ptr<std::vector<float>>>(memory);
    const auto buffer = Napi::ArrayBuffer::New(
        env, begin, count * sizeof(float),
        [](Napi::Env, void*, std::shared_ptr<std::vector<float>>* held) { const std::unique_ptr<std::shared_ptr<std::vector<float>>> released(held); },
        owner.get());
    static_cast<void>(owner.release());
    return Napi::Float32Array::New(env, count, buffer, 0);
  };
  Napi::Object result = Napi::Object::New(env);
  result.Set("operation", wrapOperation(env, std::make_shared<StartableOperation>(startingPoint_, std::move(work))));
  const auto input = arrayOf(own, length);
  result.Set("input", input);
  result.Set("output", gathers ? arrayOf(received, ranks * length) : input);
  return result;
}

// (monitored, timeoutMs)
Napi::Value ProcessGroup::prepareBarrier(const Napi::CallbackInfo& info) {
  return wrapOperation(info.Env(), std::make_shared<StartableOperation>(startingPoint_, barrierOf(info)));
}

// (operation): settles when an operation of prepareAllReduce that was started has ended; undefined if it has succeeded.
Napi::Value ProcessGroup::ended(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::shared_ptr<StartableOperation> operation = operationOf(info[0]);
  // No promise after a graph that has already waited: a turn of the event loop would cost more than the rest of the step.
  if (operation->hasSucceeded()) return env.Undefined();
  auto pending = makePending(env, env.Undefined());
  const Napi::Value promise = pending->deferred.Promise();
  keepAlive(env);
  // `settle` takes ownership, see runAsync.
  operation->whenEnded([this, waiting = pending.release()](const std::optional<OperationFailure>& failure) {
    waiting->failure = failure;
    settlement_.NonBlockingCall(waiting);
  });
  return promise;
}

}  // namespace ringrun
