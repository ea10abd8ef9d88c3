#include "binding/process_group.h"

#include <functional>
#include <string>
#include <utility>

#include "binding/algorithms.h"
#include "binding/call_arguments.h"
#include "binding/failure_to_js.h"
#include "binding/process_group_pending.h"
#include "binding/termination_watch.h"

namespace ringrun {

Napi::Function ProcessGroup::define(Napi::Env env) {
  return DefineClass(env, "ProcessGroup",
                     {
                         InstanceMethod<&ProcessGroup::listen>("listen"),
                         InstanceMethod<&ProcessGroup::connect>("connect"),
                         InstanceMethod<&ProcessGroup::allocateSync>("allocateSync"),
                         InstanceMethod<&ProcessGroup::allocateForHostSync>("allocateForHostSync"),
                         InstanceMethod<&ProcessGroup::slicesOfSync>("slicesOfSync"),
                         InstanceMethod<&ProcessGroup::settleSync>("settleSync"),
                         InstanceMethod<&ProcessGroup::measureLinks>("measureLinks"),
                         InstanceMethod<&ProcessGroup::followRoutes>("followRoutes"),
                         InstanceMethod<&ProcessGroup::asynchronous<&ProcessGroup::allReduceOf>>("allReduce"),
                         InstanceMethod<&ProcessGroup::asynchronous<&ProcessGroup::allReduceCoalescedOf>>("allReduceCoalesced"),
                         InstanceMethod<&ProcessGroup::synchronous<&ProcessGroup::allReduceCoalescedOf>>(
                             "allReduceCoalescedSync"),
                         InstanceMethod<&ProcessGroup::asynchronous<&ProcessGroup::allReduceQuantizedOf>>("allReduceQuantized"),
                         InstanceMethod<&ProcessGroup::synchronous<&ProcessGroup::allReduceQuantizedOf>>(
                             "allReduceQuantizedSync"),
                         InstanceMethod<&ProcessGroup::asynchronous<&ProcessGroup::reduceOf>>("reduce"),
                         InstanceMethod<&ProcessGroup::synchronous<&ProcessGroup::reduceOf>>("reduceSync"),
                         InstanceMethod<&ProcessGroup::asynchronous<&ProcessGroup::reduceScatterOf>>("reduceScatter"),
                         InstanceMethod<&ProcessGroup::synchronous<&ProcessGroup::reduceScatterOf>>("reduceScatterSync"),
                         InstanceMethod<&ProcessGroup::asynchronous<&ProcessGroup::broadcastOf>>("broadcast"),
                         InstanceMethod<&ProcessGroup::synchronous<&ProcessGroup::broadcastOf>>("broadcastSync"),
                         InstanceMethod<&ProcessGroup::asynchronous<&ProcessGroup::exchangeOf>>("exchange"),
                         InstanceMethod<&ProcessGroup::synchronous<&ProcessGroup::exchangeOf>>("exchangeSync"),
                         InstanceMethod<&ProcessGroup::asynchronous<&ProcessGroup::barrierOf>>("barrier"),
                         InstanceMethod<&ProcessGroup::synchronous<&ProcessGroup::barrierOf>>("barrierSync"),
                         InstanceMethod<&ProcessGroup::asynchronous<&ProcessGroup::newGroupOf>>("newGroup"),
                         InstanceMethod<&ProcessGroup::send>("send"),
                         InstanceMethod<&ProcessGroup::sendSync>("sendSync"),
                         InstanceMethod<&ProcessGroup::receive>("receive"),
                         InstanceMethod<&ProcessGroup::receiveSync>("receiveSync"),
                         InstanceMethod<&ProcessGroup::joinNccl>("joinNccl"),
                         InstanceMethod<&ProcessGroup::copyToDevice>("copyToDevice"),
                         InstanceMethod<&ProcessGroup::copyToHost>("copyToHost"),
                         InstanceMethod<&ProcessGroup::sendOnDevice>("sendOnDevice"),
                         InstanceMethod<&ProcessGroup::receiveOnDevice>("receiveOnDevice"),
                         InstanceMethod<&ProcessGroup::afterStream>("afterStream"),
                         InstanceMethod<&ProcessGroup::runProgram>("runProgram"),
                         InstanceMethod<&ProcessGroup::beforeStream>("beforeStream"),
                         InstanceMethod<&ProcessGroup::prepareAllReduce>("prepareAllReduce"),
                         InstanceMethod<&ProcessGroup::prepareWithMemory>("prepareWithMemory"),
                         InstanceMethod<&ProcessGroup::prepareBarrier>("prepareBarrier"),
                         InstanceMethod<&ProcessGroup::ended>("ended"),
                         InstanceMethod<&ProcessGroup::destroy>("destroy"),
                     });
}

ProcessGroup::ProcessGroup(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<ProcessGroup>(info),
      group_(info[0].As<Napi::Number>().Int32Value(), info[1].As<Napi::Number>().Int32Value()),
      settlement_(Settlement::New(info.Env(), "ringrun", 0, 1, this)),
      queue_(std::make_unique<SerialQueue>()),
      messages_(std::make_unique<SerialQueue>()),
      startingPoint_(std::make_shared<StartingPoint>(*queue_)) {
  settlement_.Unref(info.Env());
  // A function of this object, not of its class: finding the object of a method takes 30 ns, a sixth of the call.
  // TypeScript calls it only as a method of this object, which keeps the object alive.
  info.This().As<Napi::Object>().Set("allReduceSync", Napi::Function::New<&ProcessGroup::allReduceSync>(info.Env(), "allReduceSync", this));
  napi_add_env_cleanup_hook(info.Env(), &ProcessGroup::endWithEnvironment, this);
}

ProcessGroup::~ProcessGroup() {
  if (!queue_) return;
  napi_remove_env_cleanup_hook(Env(), &ProcessGroup::endWithEnvironment, this);
  endOperations();
  settlement_.Release();
}

// Hooks run in reverse order of registration, so this one runs before `settlement_`, which operations call, is
// freed.
void ProcessGroup::endWithEnvironment(void* self) { static_cast<ProcessGroup*>(self)->endOperations(); }

void ProcessGroup::endOperations() {
  startingPoint_->close();
  group_.cancel();
  messages_.reset();
  queue_.reset();
}

Napi::Value ProcessGroup::listen(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  try {
    const Group::Listening listening = group_.listen(info[0].ToString(), keyOf(info[1]), info[2].ToBoolean());
    Napi::Object result = Napi::Object::New(env);
    result.Set("socketName", listening.socketName);
    result.Set("sharedMemoryProblem", listening.sharedMemoryProblem);
    result.Set("port", listening.port);
    result.Set("relayPort", listening.relayPort);
    result.Set("token", hexOf(listening.token));
    return result;
  } catch (const Failure& failure) {
    Fingerprint fingerprint;
    fingerprint.op = Op::Connect;
    throw toJs(env, {failure, fingerprint, 0});
  }
}

Napi::Value ProcessGroup::connect(const Napi::CallbackInfo& info) {
  const auto rankInfos = info[0].As<Napi::Array>();
  std::vector<Endpoint> endpoints;
  std::vector<int> hosts;
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < rankInfos.Length(); ++i) {
    const auto rankInfo = rankInfos.Get(i).As<Napi::Object>();
    endpoints.push_back(endpointOf(rankInfo));
    hosts.push_back(rankInfo.Get("host").As<Napi::Number>());
    names.push_back(rankInfo.Get("name").ToString());
    if (rankInfo.Has("hostName")) endpoints.back().hostName = rankInfo.Get("hostName").ToString();
  }
  const std::optional<Algorithm> forced = algorithmOf(info[1]);
  const double timeoutMs = info[2].As<Napi::Number>();
  WaitReports reports(std::move(names), info[3].As<Napi::Number>());
  const Milliseconds silentPeerTimeout =
      info[4].IsUndefined() ? kDefaultSilentPeerTimeout : Milliseconds{info[4].As<Napi::Number>().Int64Value()};
  return runAsync(info.Env(),
               [this, topology = Topology(hosts), endpoints = std::move(endpoints), forced, timeoutMs,
                silentPeerTimeout, reports = std::move(reports)] {
                 return group_.connect(topology, endpoints, forced, reports, timeoutMs, silentPeerTimeout);
               },
               info.Env().Undefined());
}

// Calls `use` with the fingerprint, the timeout and the operation of (tensor, dtype, reduceOp, timeoutMs).
template <typename Use>
auto ProcessGroup::withAllReduce(const Napi::CallbackInfo& info, Use use) {
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  const Fingerprint request = fingerprintOf(Op::AllReduce, reduceOpOf(info[2]), elements.dtype, 0, elements.count);
  const double timeoutMs = info[3].As<Napi::Number>();
  return use(placed(info.Env(), request, elements.onDevice), timeoutMs,
             [data = elements.data](Collectives& collectives, const Call& call) { collectives.allReduce(call, data); });
}

ProcessGroup::Work ProcessGroup::allReduceOf(const Napi::CallbackInfo& info) {
  return withAllReduce(info, [this](const Fingerprint& fingerprint, double timeoutMs, auto operate) {
    return workOf(fingerprint, timeoutMs, operate);
  });
}

// Like synchronous<&allReduceOf>, but allocates nothing: the operation stays on this stack.
void ProcessGroup::allReduceSync(const Napi::CallbackInfo& info) {
  auto* const self = static_cast<ProcessGroup*>(info.Data());
  self->withAllReduce(info, [&](const Fingerprint& fingerprint, double timeoutMs, auto operate) {
    const auto run = [&] { return self->group_.run(self->group_.numbered(fingerprint), timeoutMs, operate); };
    return self->runSync(info.Env(), std::cref(run));
  });
}

// (tensors, dtype, reduceOp, timeoutMs). The dtype is ignored if there are no tensors.
ProcessGroup::Work ProcessGroup::allReduceCoalescedOf(const Napi::CallbackInfo& info) {
  const bool hasTensors = info[0].As<Napi::Array>().Length() > 0;
  const DType dtype = hasTensors ? dtypeOf(info[1]) : DType::None;
  Arrays arrays(dtype);
  Blocks blocks = arrays.blocks(info[0]);
  const auto count = static_cast<std::uint32_t>(blocks.size());
  const Fingerprint request = fingerprintOf(Op::AllReduceCoalesced, reduceOpOf(info[2]), dtype, count, 0);
  return workOf(placed(info.Env(), request, arrays.onDevice()), info[3].As<Napi::Number>(),
                [blocks = std::move(blocks)](Collectives& collectives, const Call& call) {
                  collectives.allReduceCoalesced(call, blocks);
                });
}

// (tensor, error, reduceOp, bits, timeoutMs). `error`: as long as the tensor, or undefined.
ProcessGroup::Work ProcessGroup::allReduceQuantizedOf(const Napi::CallbackInfo& info) {
  const Elements elements = elementsOf(info[0], DType::Float32);
  const bool keepsError = !info[1].IsUndefined();
  const Elements error = keepsError ? elementsOf(info[1], DType::Float32) : Elements{nullptr, elements.count, DType::Float32};
  const std::uint32_t bits = info[3].As<Napi::Number>();
  if (elements.onDevice || error.onDevice || error.count != elements.count || (bits != 8 && bits != 4)) {
    throw Napi::TypeError::New(info.Env(), "expected two arrays of one length in host memory, and 8 or 4 bits");
  }
  const QuantizedReduction reduction{static_cast<float*>(elements.data), static_cast<float*>(error.data),
                                     static_cast<std::size_t>(elements.count), static_cast<int>(bits)};
  const Fingerprint request = fingerprintOf(Op::AllReduceQuantized, reduceOpOf(info[2]), DType::Float32, bits, elements.count);
  return workOf(request, info[4].As<Napi::Number>(),
                [reduction](Collectives& collectives, const Call& call) { collectives.allReduceQuantized(call, reduction); });
}

// (tensor, dtype, reduceOp, root, timeoutMs)
ProcessGroup::Work ProcessGroup::reduceOf(const Napi::CallbackInfo& info) {
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  const std::uint32_t root = info[3].As<Napi::Number>();
  const Fingerprint request = fingerprintOf(Op::Reduce, reduceOpOf(info[2]), elements.dtype, root, elements.count);
  return workOf(placed(info.Env(), request, elements.onDevice), info[4].As<Napi::Number>(),
                [data = elements.data](Collectives& collectives, const Call& call) { collectives.reduce(call, data); });
}

// (output, inputs, dtype, reduceOp, timeoutMs)
ProcessGroup::Work ProcessGroup::reduceScatterOf(const Napi::CallbackInfo& info) {
  const DType dtype = dtypeOf(info[2]);
  Arrays arrays(dtype);
  const Block output = arrays.block(info[0]);
  Blocks inputs = arrays.blocks(info[1]);
  const Fingerprint request = fingerprintOf(Op::ReduceScatter, reduceOpOf(info[3]), dtype, 0, 0);
  return workOf(placed(info.Env(), request, arrays.onDevice()), info[4].As<Napi::Number>(),
                [output, inputs = std::move(inputs)](Collectives& collectives, const Call& call) {
                  collectives.reduceScatter(call, inputs, output);
                });
}

// (tensor, dtype, root, timeoutMs)
ProcessGroup::Work ProcessGroup::broadcastOf(const Napi::CallbackInfo& info) {
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  const std::uint32_t root = info[2].As<Napi::Number>();
  const Fingerprint request = fingerprintOf(Op::Broadcast, ReduceOp::None, elements.dtype, root, elements.count);
  return workOf(placed(info.Env(), request, elements.onDevice), info[3].As<Napi::Number>(),
                [data = elements.data](Collectives& collectives, const Call& call) { collectives.broadcast(call, data); });
}

// (op, sends, receives, dtype, root, onDevice, timeoutMs)
ProcessGroup::Work ProcessGroup::exchangeOf(const Napi::CallbackInfo& info) {
  const auto op = static_cast<Op>(info[0].As<Napi::Number>().Uint32Value());
  const DType dtype = dtypeOf(info[3]);
  Arrays arrays(dtype);
  Blocks sends = arrays.blocks(info[1]);
  Blocks receives = arrays.blocks(info[2]);
  const Fingerprint request = fingerprintOf(op, ReduceOp::None, dtype, info[4].As<Napi::Number>(), 0);
  return workOf(placed(info.Env(), request, arrays.onDevice(info[5])), info[6].As<Napi::Number>(),
                [exchange = Exchange{std::move(sends), std::move(receives)}](
                    Collectives& collectives, const Call& call) { collectives.exchange(call, exchange); });
}

// (monitored, timeoutMs)
ProcessGroup::Work ProcessGroup::barrierOf(const Napi::CallbackInfo& info) {
  const Op op = info[0].ToBoolean() ? Op::MonitoredBarrier : Op::Barrier;
  return workOf(fingerprintOf(op, ReduceOp::None, DType::None, 0, 0), info[1].As<Napi::Number>(),
                [](Collectives& collectives, const Call& call) { collectives.barrier(call); });
}

// (timeoutMs): a barrier of the group from which another one is formed.
ProcessGroup::Work ProcessGroup::newGroupOf(const Napi::CallbackInfo& info) {
  return workOf(fingerprintOf(Op::NewGroup, ReduceOp::None, DType::None, 0, 0), info[0].As<Napi::Number>(),
                [](Collectives& collectives, const Call& call) { collectives.barrier(call); });
}

// TypeScript does not change argument lists after the call, so a reference to a list keeps its arrays alive.
template <ProcessGroup::Issue issue>
Napi::Value ProcessGroup::asynchronous(const Napi::CallbackInfo& info) {
  return runAsync(info.Env(), (this->*issue)(info), retainedObjects(info));
}

template <ProcessGroup::Issue issue>
void ProcessGroup::synchronous(const Napi::CallbackInfo& info) {
  runSync(info.Env(), (this->*issue)(info));
}

// Blocks until all issued collectives have completed; their promises settle later, on the event loop.
void ProcessGroup::settleSync(const Napi::CallbackInfo& info) {
  runSync(info.Env(), [this] { return group_.failure(); });
}

Napi::Value ProcessGroup::destroy(const Napi::CallbackInfo& info) {
  const double timeoutMs = info[0].As<Napi::Number>();
  const Fingerprint fingerprint = fingerprintOf(Op::Destroy, ReduceOp::None, DType::None, 0, 0);
  return runAsync(info.Env(), [this, fingerprint, timeoutMs] { return group_.destroy(group_.numbered(fingerprint), timeoutMs); },
               info.Env().Undefined(), true);
}

// Runs on this thread unless messages are pending on the other, because both use the same connections.
bool ProcessGroup::runSync(Napi::Env env, const Work& work) {
  const TerminationWatch watch(env, group_);
  std::optional<OperationFailure> failure;
  if (group_.isExchangingMessages()) {
    queue_->submit(SerialQueue::Task([&] { failure = work(); }));
    queue_->awaitIdle();
  } else {
    queue_->runHere([&] { failure = work(); });
  }
  if (watch.isTerminating()) return false;
  if (failure) throw toJs(env, *failure);
  return true;
}

std::unique_ptr<ProcessGroup::Pending> ProcessGroup::makePending(Napi::Env env, Napi::Value retained) {
  std::vector<std::shared_ptr<const void>> owners;
  const auto isKept = [this, &owners](const void* data) {
    auto owner = allocations_.ownerOf(data);
    if (owner == nullptr) return false;
    owners.push_back(std::move(owner));
    return true;
  };
  HeldArrays arrays(retained, isKept);
  auto pending = std::make_unique<Pending>(Pending{Napi::Promise::Deferred::New(env), std::move(arrays), std::move(owners), {}, false, {}, {}});
  pending->group = Napi::Persistent(Value());
  return pending;
}

Napi::Value ProcessGroup::runAsync(Napi::Env env, Work work, Napi::Value retained, bool detaches) {
  auto pending = makePending(env, retained);
  pending->detaches = detaches;
  const Napi::Value promise = pending->deferred.Promise();
  queue_->submit(SerialQueue::Task([this, work = std::move(work), pending = std::move(pending)]() mutable {
    pending->failure = work();
    // The JavaScript thread takes ownership of `pending`. If it is ending, `pending` leaks, because references
    // to JavaScript values must not be released on this thread.
    settlement_.NonBlockingCall(pending.release());
  }));
  keepAlive(env);
  return promise;
}

// Called after everything that may throw. Pending operations cannot settle earlier, because that happens on this
// thread.
void ProcessGroup::keepAlive(Napi::Env env) {
  if (pending_++ == 0) settlement_.Ref(env);
}

// `env` is empty if the environment is ending: promises can no longer settle.
void ProcessGroup::settle(Napi::Env env, Napi::Function, ProcessGroup* self, Pending* pending) {
  const std::unique_ptr<Pending> settled(pending);
  if (env == nullptr) return settled->leaveReferencesToEnvironment();
  if (--self->pending_ == 0) self->settlement_.Unref(env);
  if (settled->detaches) self->allocations_.detach();
  if (settled->failure) {
    settled->deferred.Reject(toJs(env, *settled->failure).Value());
  } else if (settled->sender) {
    settled->deferred.Resolve(Napi::Number::New(env, *settled->sender));
  } else {
    settled->deferred.Resolve(env.Undefined());
  }
}

}  // namespace ringrun
