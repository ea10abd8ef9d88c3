#pragma once

#include <napi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/serial_queue.h"
#include "binding/allocations.h"
#include "binding/elements.h"
#include "binding/startable_operation.h"
#include "collectives/group.h"
#include "nccl/nccl_collectives.h"

namespace ringrun {

// NativeProcessGroup of native/lib/process-group.ts: a Group, its operation queue, and the promises of its operations.
//
// Everything runs on the JavaScript thread except queued tasks, which access the group and never JavaScript.
// TypeScript has validated the arguments; checks here only prevent crashes. The process stays alive while a
// promise is pending.
//
// process_group.cc: connecting, collectives, promises. process_group_memory.cc, …_messages.cc, …_links.cc, …_gpu.cc and
// …_prepared.cc: the other functions.
class ProcessGroup : public Napi::ObjectWrap<ProcessGroup> {
 public:
  static Napi::Function define(Napi::Env env);

  explicit ProcessGroup(const Napi::CallbackInfo& info);

  ~ProcessGroup() override;

 private:
  struct Pending;
  static void settle(Napi::Env env, Napi::Function, ProcessGroup* self, Pending* pending);
  using Settlement = Napi::TypedThreadSafeFunction<ProcessGroup, Pending, &ProcessGroup::settle>;
  using Work = std::function<std::optional<OperationFailure>()>;

  Napi::Value listen(const Napi::CallbackInfo& info);
  Napi::Value connect(const Napi::CallbackInfo& info);
  Napi::Value allocateSync(const Napi::CallbackInfo& info);
  Napi::Value allocateForHostSync(const Napi::CallbackInfo& info);
  Napi::Value slicesOfSync(const Napi::CallbackInfo& info);
  void settleSync(const Napi::CallbackInfo& info);
  Napi::Value measureLinks(const Napi::CallbackInfo& info);
  Napi::Value followRoutes(const Napi::CallbackInfo& info);
  Napi::Value destroy(const Napi::CallbackInfo& info);

  // Operations that require a GPU.
  Napi::Value joinNccl(const Napi::CallbackInfo& info);
  Napi::Value copyToDevice(const Napi::CallbackInfo& info);
  Napi::Value copyToHost(const Napi::CallbackInfo& info);
  Napi::Value copy(Op op, const Napi::CallbackInfo& info);
  Napi::Value sendOnDevice(const Napi::CallbackInfo& info);
  Napi::Value receiveOnDevice(const Napi::CallbackInfo& info);
  Napi::Value messageOnDevice(Op op, const Napi::CallbackInfo& info);
  Napi::Value runProgram(const Napi::CallbackInfo& info);
  Napi::Value afterStream(const Napi::CallbackInfo& info);
  Napi::Value beforeStream(const Napi::CallbackInfo& info);
  template <typename Synchronize>
  Napi::Value synchronizeStreams(const Napi::CallbackInfo& info, Synchronize synchronize);
  void requireGpuGroup(Napi::Env env, bool onDevice) const;
  Fingerprint placed(Napi::Env env, Fingerprint request, bool onDevice) const;

  // An operation with its JavaScript arguments. It gets its position in the group's order when it is queued.
  using Issue = Work (ProcessGroup::*)(const Napi::CallbackInfo& info);
  template <typename Use>
  auto withAllReduce(const Napi::CallbackInfo& info, Use use);
  Work allReduceOf(const Napi::CallbackInfo& info);
  Work allReduceCoalescedOf(const Napi::CallbackInfo& info);
  Work allReduceQuantizedOf(const Napi::CallbackInfo& info);
  Work reduceOf(const Napi::CallbackInfo& info);
  Work reduceScatterOf(const Napi::CallbackInfo& info);
  Work broadcastOf(const Napi::CallbackInfo& info);
  Work exchangeOf(const Napi::CallbackInfo& info);
  Work barrierOf(const Napi::CallbackInfo& info);
  Work newGroupOf(const Napi::CallbackInfo& info);

  // An operation that other threads start (StartableOperation).
  Napi::Value prepareAllReduce(const Napi::CallbackInfo& info);
  std::shared_ptr<const void> requireAllocated(Napi::Env env, const Elements& elements) const;
  Work copyingFirst(Napi::Env env, const Elements& input, const Elements& copy, Work work);
  Napi::Value prepareWithMemory(const Napi::CallbackInfo& info);
  Napi::Value prepareBarrier(const Napi::CallbackInfo& info);
  Napi::Value ended(const Napi::CallbackInfo& info);

  // The asynchronous and synchronous forms of each operation.
  template <Issue issue>
  Napi::Value asynchronous(const Napi::CallbackInfo& info);
  template <Issue issue>
  void synchronous(const Napi::CallbackInfo& info);
  static void allReduceSync(const Napi::CallbackInfo& info);

  // Messages between two ranks: (tensor, dtype, rank, tag, timeoutMs).
  Napi::Value send(const Napi::CallbackInfo& info);
  void sendSync(const Napi::CallbackInfo& info);
  Napi::Value receive(const Napi::CallbackInfo& info);
  Napi::Value receiveSync(const Napi::CallbackInfo& info);
  Napi::Value postAsync(Op op, const Napi::CallbackInfo& info);
  int postSync(Op op, const Napi::CallbackInfo& info);
  void post(Message message);

  // A collective.
  template <typename Operate>
  Work workOf(const Fingerprint& fingerprint, double timeoutMs, Operate operate) {
    return [this, fingerprint, timeoutMs, operate] { return group_.run(group_.numbered(fingerprint), timeoutMs, operate); };
  }
  // An operation without a sequence number, because other ranks do not take part.
  template <typename Operate>
  Work workAlone(const Fingerprint& fingerprint, double timeoutMs, Operate operate) {
    return [this, fingerprint, timeoutMs, operate] { return group_.run(fingerprint, timeoutMs, operate); };
  }
  std::unique_ptr<Pending> makePending(Napi::Env env, Napi::Value retained);
  Napi::Value runAsync(Napi::Env env, Work work, Napi::Value retained, bool detaches = false);
  void keepAlive(Napi::Env env);
  // Returns false if this thread's JavaScript is being terminated: then no result exists.
  bool runSync(Napi::Env env, const Work& work);

  // If the environment ends (process.exit) during an operation, cancels it and waits for it to end before its
  // memory is freed.
  static void endWithEnvironment(void* self);
  void endOperations();

  Group group_;
  // The group's collectives after joinNccl. Written on the other thread before the promise of joinNccl settles.
  NcclCollectives* gpu_ = nullptr;
  Settlement settlement_;
  std::size_t pending_ = 0;
  Allocations allocations_;
  // Destroyed before the members above, which its tasks use. Empty after the environment has ended.
  std::unique_ptr<SerialQueue> queue_;
  // Runs group_.runPointToPoint() while messages are pending.
  std::unique_ptr<SerialQueue> messages_;
  // Lets other threads submit to `queue_` while it exists.
  std::shared_ptr<StartingPoint> startingPoint_;
};

}  // namespace ringrun
