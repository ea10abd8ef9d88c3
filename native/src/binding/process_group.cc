#include "binding/process_group.h"

#include <string>
#include <utility>

#include "binding/elements.h"
#include "binding/failure_to_js.h"

namespace ringrun {
namespace {

Endpoint endpointOf(const Napi::Object& object) {
  Endpoint endpoint;
  endpoint.socketName = object.Get("socketName").ToString();
  endpoint.address = object.Get("address").ToString();
  endpoint.port = static_cast<std::uint16_t>(object.Get("port").ToNumber().Uint32Value());
  const std::string hex = object.Get("token").ToString();
  for (std::size_t i = 0; i < kTokenBytes && 2 * i + 1 < hex.size(); ++i) {
    endpoint.token[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return endpoint;
}

}  // namespace

// A promise, and what must stay reachable until it settles: the array that the operation works on, and the group
// itself.
struct ProcessGroup::Pending {
  Napi::Promise::Deferred deferred;
  Napi::ObjectReference array;
  Napi::ObjectReference group;
  bool detaches;
  std::optional<OperationFailure> failure;
};

Napi::Function ProcessGroup::define(Napi::Env env) {
  return DefineClass(env, "ProcessGroup",
                     {
                         InstanceMethod<&ProcessGroup::listen>("listen"),
                         InstanceMethod<&ProcessGroup::connect>("connect"),
                         InstanceMethod<&ProcessGroup::allocateSync>("allocateSync"),
                         InstanceMethod<&ProcessGroup::allReduce>("allReduce"),
                         InstanceMethod<&ProcessGroup::allReduceSync>("allReduceSync"),
                         InstanceMethod<&ProcessGroup::broadcast>("broadcast"),
                         InstanceMethod<&ProcessGroup::broadcastSync>("broadcastSync"),
                         InstanceMethod<&ProcessGroup::barrier>("barrier"),
                         InstanceMethod<&ProcessGroup::barrierSync>("barrierSync"),
                         InstanceMethod<&ProcessGroup::destroy>("destroy"),
                     });
}

ProcessGroup::ProcessGroup(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<ProcessGroup>(info),
      group_(info[0].ToNumber().Int32Value(), info[1].ToNumber().Int32Value()),
      settlement_(Settlement::New(info.Env(), "ringrun", 0, 1, this)),
      queue_(std::make_unique<SerialQueue>()) {
  settlement_.Unref(info.Env());
  napi_add_env_cleanup_hook(info.Env(), &ProcessGroup::endWithEnvironment, this);
}

ProcessGroup::~ProcessGroup() {
  if (!queue_) return;
  napi_remove_env_cleanup_hook(Env(), &ProcessGroup::endWithEnvironment, this);
  endThread();
  settlement_.Release();
}

// Hooks run in the reverse order of their registration, so this one runs before that of `settlement_` frees what the
// thread calls.
void ProcessGroup::endWithEnvironment(void* self) { static_cast<ProcessGroup*>(self)->endThread(); }

void ProcessGroup::endThread() {
  group_.cancel();
  queue_.reset();
}

Napi::Value ProcessGroup::listen(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  try {
    const Group::Listening listening = group_.listen(info[0].ToString());
    Napi::Object result = Napi::Object::New(env);
    result.Set("socketName", listening.socketName);
    result.Set("sharedMemoryProblem", listening.sharedMemoryProblem);
    result.Set("port", listening.port);
    result.Set("token", hexOf(listening.token));
    return result;
  } catch (const Failure& failure) {
    Fingerprint fingerprint;
    fingerprint.op = Op::Connect;
    throw toJs(env, {failure, fingerprint, 0});
  }
}

Napi::Value ProcessGroup::connect(const Napi::CallbackInfo& info) {
  const auto carrier = info[0].ToString().Utf8Value() == "tcp" ? Carrier::Tcp : Carrier::LocalSocket;
  const auto cards = info[1].As<Napi::Array>();
  std::vector<Endpoint> endpoints;
  for (std::uint32_t i = 0; i < cards.Length(); ++i) endpoints.push_back(endpointOf(cards.Get(i).As<Napi::Object>()));
  const double timeoutMs = info[2].ToNumber();
  return later(info.Env(),
               [this, carrier, endpoints = std::move(endpoints), timeoutMs] {
                 return group_.connect(carrier, endpoints, timeoutMs);
               },
               info.Env().Undefined());
}

Napi::Value ProcessGroup::allocateSync(const Napi::CallbackInfo& info) {
  const DType dtype = dtypeOf(info[0]);
  const auto count = static_cast<std::uint64_t>(info[1].ToNumber().Int64Value());
  const double timeoutMs = info[2].ToNumber();
  const Fingerprint fingerprint = group_.issue(Op::Allocate, ReduceOp::None, dtype, 0, count);
  Allocation allocation;
  now(info.Env(), [&] {
    return group_.run(fingerprint, timeoutMs, [&](Collectives& collectives, const Call& call) {
      allocation = collectives.allocate(call);
    });
  });
  // The array buffer keeps the memory mapped, even where it outlives the group without having been detached.
  auto owner = std::make_unique<std::shared_ptr<const Mapping>>(std::move(allocation.owner));
  auto buffer = Napi::ArrayBuffer::New(
      info.Env(), allocation.data, fingerprint.bytes(),
      [](Napi::Env, void*, std::shared_ptr<const Mapping>* held) {
        const std::unique_ptr<std::shared_ptr<const Mapping>> released(held);
      },
      owner.get());
  static_cast<void>(owner.release());
  allocations_.push_back(Napi::Persistent(buffer));
  return buffer;
}

ProcessGroup::Work ProcessGroup::allReduceOf(const Napi::CallbackInfo& info) {
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  const auto reduceOp = static_cast<ReduceOp>(info[2].ToNumber().Uint32Value());
  const double timeoutMs = info[3].ToNumber();
  const Fingerprint fingerprint = group_.issue(Op::AllReduce, reduceOp, elements.dtype, 0, elements.count);
  return [this, fingerprint, timeoutMs, data = elements.data] {
    return group_.run(fingerprint, timeoutMs,
                      [data](Collectives& collectives, const Call& call) { collectives.allReduce(call, data); });
  };
}

ProcessGroup::Work ProcessGroup::broadcastOf(const Napi::CallbackInfo& info) {
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  const std::uint32_t root = info[2].ToNumber().Uint32Value();
  const double timeoutMs = info[3].ToNumber();
  const Fingerprint fingerprint = group_.issue(Op::Broadcast, ReduceOp::None, elements.dtype, root, elements.count);
  return [this, fingerprint, timeoutMs, data = elements.data] {
    return group_.run(fingerprint, timeoutMs,
                      [data](Collectives& collectives, const Call& call) { collectives.broadcast(call, data); });
  };
}

ProcessGroup::Work ProcessGroup::barrierOf(const Napi::CallbackInfo& info) {
  const double timeoutMs = info[0].ToNumber();
  const Fingerprint fingerprint = group_.issue(Op::Barrier, ReduceOp::None, DType::None, 0, 0);
  return [this, fingerprint, timeoutMs] {
    return group_.run(fingerprint, timeoutMs, [](Collectives& collectives, const Call& call) { collectives.barrier(call); });
  };
}

Napi::Value ProcessGroup::allReduce(const Napi::CallbackInfo& info) { return later(info.Env(), allReduceOf(info), info[0]); }

void ProcessGroup::allReduceSync(const Napi::CallbackInfo& info) { now(info.Env(), allReduceOf(info)); }

Napi::Value ProcessGroup::broadcast(const Napi::CallbackInfo& info) { return later(info.Env(), broadcastOf(info), info[0]); }

void ProcessGroup::broadcastSync(const Napi::CallbackInfo& info) { now(info.Env(), broadcastOf(info)); }

Napi::Value ProcessGroup::barrier(const Napi::CallbackInfo& info) {
  return later(info.Env(), barrierOf(info), info.Env().Undefined());
}

void ProcessGroup::barrierSync(const Napi::CallbackInfo& info) { now(info.Env(), barrierOf(info)); }

Napi::Value ProcessGroup::destroy(const Napi::CallbackInfo& info) {
  const double timeoutMs = info[0].ToNumber();
  const Fingerprint fingerprint = group_.issue(Op::Destroy, ReduceOp::None, DType::None, 0, 0);
  return later(info.Env(), [this, fingerprint, timeoutMs] { return group_.destroy(fingerprint, timeoutMs); },
               info.Env().Undefined(), true);
}

void ProcessGroup::now(Napi::Env env, const Work& work) {
  queue_->awaitIdle();
  if (const auto failure = work()) throw toJs(env, *failure);
}

Napi::Value ProcessGroup::later(Napi::Env env, Work work, Napi::Value kept, bool detaches) {
  auto pending = std::make_unique<Pending>(Pending{Napi::Promise::Deferred::New(env), {}, {}, detaches, {}});
  if (kept.IsObject()) pending->array = Napi::Persistent(kept.As<Napi::Object>());
  pending->group = Napi::Persistent(Value());
  const Napi::Value promise = pending->deferred.Promise();
  if (pending_++ == 0) settlement_.Ref(env);
  queue_->submit(SerialQueue::Task([this, work = std::move(work), pending = std::move(pending)]() mutable {
    pending->failure = work();
    // The JavaScript thread takes over what is pending. Where it is ending it does not, and neither does anybody
    // else: references to JavaScript values must not be released on this thread.
    settlement_.NonBlockingCall(pending.release());
  }));
  return promise;
}

// `env` is empty when the environment is ending: promises are of no use any more, and neither are references.
void ProcessGroup::settle(Napi::Env env, Napi::Function, ProcessGroup* self, Pending* pending) {
  if (env == nullptr) return;
  const std::unique_ptr<Pending> settled(pending);
  if (--self->pending_ == 0) self->settlement_.Unref(env);
  if (settled->detaches) self->detachAllocations();
  if (settled->failure) {
    settled->deferred.Reject(toJs(env, *settled->failure).Value());
  } else {
    settled->deferred.Resolve(env.Undefined());
  }
}

void ProcessGroup::detachAllocations() {
  for (auto& allocation : allocations_) allocation.Value().Detach();
  allocations_.clear();
}

}  // namespace ringrun
