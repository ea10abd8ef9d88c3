// The part of ProcessGroup that sends and receives messages between two ranks.
#include <future>
#include <utility>

#include "base/wait.h"
#include "binding/call_arguments.h"
#include "binding/failure_to_js.h"
#include "binding/process_group.h"
#include "binding/process_group_pending.h"
#include "binding/termination_watch.h"

namespace ringrun {

Napi::Value ProcessGroup::send(const Napi::CallbackInfo& info) { return postAsync(Op::Send, info); }

void ProcessGroup::sendSync(const Napi::CallbackInfo& info) { postSync(Op::Send, info); }

Napi::Value ProcessGroup::receive(const Napi::CallbackInfo& info) { return postAsync(Op::Receive, info); }

Napi::Value ProcessGroup::receiveSync(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), postSync(Op::Receive, info));
}

Napi::Value ProcessGroup::postAsync(Op op, const Napi::CallbackInfo& info) {
  Message message = messageOf(op, info);
  auto pending = makePending(info.Env(), info[0]);
  const Napi::Value promise = pending->deferred.Promise();
  const bool receives = op == Op::Receive;
  message.done = [this, receives, waiting = pending.release()](std::optional<OperationFailure> failure, int peer) {
    waiting->failure = std::move(failure);
    if (receives) waiting->sender = peer;
    settlement_.NonBlockingCall(waiting);
  };
  post(std::move(message));
  keepAlive(info.Env());
  return promise;
}

int ProcessGroup::postSync(Op op, const Napi::CallbackInfo& info) {
  struct Result {
    std::optional<OperationFailure> failure;
    int peer;
  };
  std::promise<Result> result;
  Message message = messageOf(op, info);
  message.done = [&](std::optional<OperationFailure> failure, int peer) { result.set_value({std::move(failure), peer}); };
  const TerminationWatch watch(info.Env(), group_);
  post(std::move(message));
  std::future<Result> future = result.get_future();
  while (future.wait_for(kLivenessInterval) != std::future_status::ready) callWhileBlocked();
  const Result done = future.get();
  if (watch.isTerminating()) return 0;
  if (done.failure) throw toJs(info.Env(), *done.failure);
  return done.peer;
}

void ProcessGroup::post(Message message) {
  if (group_.post(std::move(message))) messages_->submit(SerialQueue::Task([this] { group_.runPointToPoint(); }));
}

}  // namespace ringrun
