#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/serial_queue.h"
#include "collectives/group.h"
#include "nccl/nccl_collectives.h"

namespace ringrun {

// ProcessGroup of native/lib/index.ts: a Group, the queue of its operations, and the promises that wait for it.
//
// Everything here runs on the JavaScript thread, except the tasks given to the queue: those touch the group alone,
// never JavaScript. Arguments have been checked by TypeScript; what is checked here is only what would crash the
// process. The process stays alive while a promise is pending, and no longer.
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
  void settleSync(const Napi::CallbackInfo& info);
  Napi::Value destroy(const Napi::CallbackInfo& info);

  // What only a group on a GPU can do.
  Napi::Value joinNccl(const Napi::CallbackInfo& info);
  template <Op op>
  Napi::Value copy(const Napi::CallbackInfo& info);
  template <Op op>
  Napi::Value messageOnDevice(const Napi::CallbackInfo& info);
  Napi::Value afterStream(const Napi::CallbackInfo& info);
  Napi::Value beforeStream(const Napi::CallbackInfo& info);
  template <typename Meet>
  Napi::Value meetStream(const Napi::CallbackInfo& info, Meet meet);
  void refuseUnlessUsable(Napi::Env env, bool onDevice) const;
  Fingerprint issue(Napi::Env env, Fingerprint wanted, bool onDevice);

  // An operation in the terms of its JavaScript arguments. Each has a place in the order of the group's operations from
  // when this is called.
  using Issue = Work (ProcessGroup::*)(const Napi::CallbackInfo& info);
  Work allReduceOf(const Napi::CallbackInfo& info);
  Work allReduceCoalescedOf(const Napi::CallbackInfo& info);
  Work reduceOf(const Napi::CallbackInfo& info);
  Work reduceScatterOf(const Napi::CallbackInfo& info);
  Work broadcastOf(const Napi::CallbackInfo& info);
  Work exchangeOf(const Napi::CallbackInfo& info);
  Work barrierOf(const Napi::CallbackInfo& info);

  // The two forms in which JavaScript calls each of them.
  template <Issue issue>
  Napi::Value asynchronous(const Napi::CallbackInfo& info);
  template <Issue issue>
  void synchronous(const Napi::CallbackInfo& info);

  // Messages between two ranks: (tensor, dtype, rank, tag, timeoutMs).
  Napi::Value send(const Napi::CallbackInfo& info);
  void sendSync(const Napi::CallbackInfo& info);
  Napi::Value receive(const Napi::CallbackInfo& info);
  Napi::Value receiveSync(const Napi::CallbackInfo& info);
  Napi::Value postLater(Op op, const Napi::CallbackInfo& info);
  int postNow(Op op, const Napi::CallbackInfo& info);
  void post(Message message);

  template <typename Operate>
  Work workOf(const Fingerprint& fingerprint, double timeoutMs, Operate operate);
  std::unique_ptr<Pending> pend(Napi::Env env, Napi::Value kept);
  Napi::Value later(Napi::Env env, Work work, Napi::Value kept, bool detaches = false);
  void keepAlive(Napi::Env env);
  void now(Napi::Env env, const Work& work);
  void detachAllocations();

  // The environment may end (process.exit) under a running operation: it is cancelled, and has ended before the
  // memory that it works on goes away.
  static void endWithEnvironment(void* self);
  void endOperations();

  Group group_;
  // The group's collectives, once it has joined NCCL: written on the other thread before the promise of joinNccl settles.
  NcclCollectives* gpu_ = nullptr;
  Settlement settlement_;
  std::size_t pending_ = 0;
  std::vector<Napi::Reference<Napi::ArrayBuffer>> allocations_;
  // Its tasks use what is above. Empty once the environment has ended.
  std::unique_ptr<SerialQueue> queue_;
  // Runs group_.runPointToPoint() while messages are pending.
  std::unique_ptr<SerialQueue> messages_;
};

}  // namespace ringrun
