#include "binding/process_group.h"

#include <algorithm>
#include <cstring>
#include <future>
#include <string>
#include <utility>

#include "base/wait.h"
#include "binding/algorithms.h"
#include "binding/elements.h"
#include "binding/failure_to_js.h"
#include "binding/held_arrays.h"
#include "binding/prepared_operation.h"
#include "binding/stacks.h"

namespace ringrun {
namespace {

Endpoint endpointOf(const Napi::Object& object) {
  Endpoint endpoint;
  endpoint.socketName = object.Get("socketName").ToString();
  endpoint.address = object.Get("address").ToString();
  endpoint.port = static_cast<std::uint16_t>(object.Get("port").As<Napi::Number>().Uint32Value());
  const std::string hex = object.Get("token").ToString();
  for (std::size_t i = 0; i < kTokenBytes && 2 * i + 1 < hex.size(); ++i) {
    endpoint.token[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return endpoint;
}

// A Uint8Array of 32 bytes; zeroes if there is none.
Key keyOf(const Napi::Value& value) {
  Key key{};
  if (value.IsUndefined()) return key;
  const auto bytes = value.As<Napi::Uint8Array>();
  if (!value.IsTypedArray() || bytes.ByteLength() != key.size()) {
    throw Napi::TypeError::New(value.Env(), "expected a key of 32 bytes");
  }
  std::memcpy(key.data(), bytes.Data(), key.size());
  return key;
}

ReduceOp reduceOpOf(const Napi::Value& number) { return static_cast<ReduceOp>(number.As<Napi::Number>().Uint32Value()); }

// The arrays of one operation: all on the GPU or all in host memory.
class Arrays {
 public:
  explicit Arrays(DType dtype) : dtype_(dtype) {}

  Block block(const Napi::Value& array) {
    if (array.IsNull()) return {};
    const Elements elements = elementsOf(array, dtype_);
    if (isKnown_ && elements.onDevice != onDevice_) {
      throw Napi::TypeError::New(array.Env(),
                                 "expected all arrays on a GPU or all in host memory, got some of each");
    }
    isKnown_ = true;
    onDevice_ = elements.onDevice;
    return {elements.data, elements.count};
  }

  Blocks blocks(const Napi::Value& list) {
    const auto arrays = list.As<Napi::Array>();
    Blocks blocks;
    for (std::uint32_t i = 0; i < arrays.Length(); ++i) blocks.push_back(block(arrays.Get(i)));
    return blocks;
  }

  bool onDevice() const { return onDevice_; }

  // The location that the caller declares; checked if there are arrays. Blocks without elements have none.
  bool onDevice(const Napi::Value& declared) const {
    if (!isKnown_ || onDevice_ == declared.ToBoolean()) return declared.ToBoolean();
    throw Napi::TypeError::New(declared.Env(), "onDevice does not match the location of the arrays");
  }

 private:
  DType dtype_;
  bool isKnown_ = false;
  bool onDevice_ = false;
};

NcclUniqueId uniqueIdOf(const Napi::Value& value) {
  NcclUniqueId id{};
  const auto bytes = value.As<Napi::Uint8Array>();
  std::memcpy(&id, bytes.Data(), std::min(bytes.ByteLength(), sizeof id));
  return id;
}

// (tensor, dtype, rank, tag, timeoutMs). A receive from any rank has rank −1.
Message messageOf(Op op, const Napi::CallbackInfo& info) {
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  if (elements.onDevice) {
    throw Napi::TypeError::New(info.Env(), "expected a typed array in host memory, got a tensor on a GPU");
  }
  Message message;
  message.fingerprint.op = op;
  message.fingerprint.dtype = elements.dtype;
  message.fingerprint.count = elements.count;
  message.fingerprint.root = static_cast<std::uint32_t>(info[2].As<Napi::Number>().Int32Value());
  message.fingerprint.sequence = info[3].As<Napi::Number>().Uint32Value();
  message.data = elements.data;
  message.timeoutMs = info[4].As<Napi::Number>();
  return message;
}

// The object among the arguments, or an array of all of them.
Napi::Value retainedObjects(const Napi::CallbackInfo& info) {
  std::vector<Napi::Value> objects;
  for (std::size_t i = 0; i < info.Length(); ++i) {
    if (info[i].IsObject()) objects.push_back(info[i]);
  }
  if (objects.empty()) return info.Env().Undefined();
  if (objects.size() == 1) return objects.front();
  Napi::Array all = Napi::Array::New(info.Env());
  for (std::uint32_t i = 0; i < objects.size(); ++i) all.Set(i, objects[i]);
  return all;
}

Fingerprint fingerprintOf(Op op, ReduceOp reduceOp, DType dtype, std::uint32_t root, std::uint64_t count) {
  Fingerprint fingerprint;
  fingerprint.op = op;
  fingerprint.reduceOp = reduceOp;
  fingerprint.dtype = dtype;
  fingerprint.root = root;
  fingerprint.count = count;
  return fingerprint;
}

// Cancels the group if this thread's JavaScript is terminated while an operation blocks it: by worker.terminate(), or by
// the main thread's process.exit(). Both wait for the thread, which would otherwise wait for other ranks.
class TerminationWatch {
 public:
  TerminationWatch(Napi::Env env, Group& group) : env_(env), group_(group) {}

  // JavaScript no longer runs: it neither gets results nor catches errors.
  bool isTerminating() const { return isTerminating_; }

 private:
  // V8 ends every script of a terminated thread. Node-API has no other way to ask.
  void look() {
    const Napi::HandleScope scope(env_);
    napi_value script = nullptr;
    napi_value result = nullptr;
    if (napi_create_string_utf8(env_, "0", 1, &script) == napi_ok && napi_run_script(env_, script, &result) == napi_ok) {
      return captureRequestedStack(env_);
    }
    isTerminating_ = true;
    group_.cancel();
  }

  Napi::Env env_;
  Group& group_;
  bool isTerminating_ = false;
  WhileBlocked blocked_{[this] { look(); }};
};

}  // namespace

// A promise, and the operation's arrays and the group, which are kept until it settles.
struct ProcessGroup::Pending {
  Napi::Promise::Deferred deferred;
  HeldArrays arrays;
  std::vector<std::shared_ptr<const void>> owners;  // of memory that `arrays` does not hold
  Napi::ObjectReference group;
  bool detaches = false;
  std::optional<OperationFailure> failure;
  std::optional<int> sender;  // result of a receive

  // An environment that is ending releases all references itself.
  void leaveReferencesToEnvironment() {
    arrays.leaveToEnvironment();
    group.SuppressDestruct();
  }
};

Napi::Function ProcessGroup::define(Napi::Env env) {
  return DefineClass(env, "ProcessGroup",
                     {
                         InstanceMethod<&ProcessGroup::listen>("listen"),
                         InstanceMethod<&ProcessGroup::connect>("connect"),
                         InstanceMethod<&ProcessGroup::allocateSync>("allocateSync"),
                         InstanceMethod<&ProcessGroup::allocateForHostSync>("allocateForHostSync"),
                         InstanceMethod<&ProcessGroup::slicesOfSync>("slicesOfSync"),
                         InstanceMethod<&ProcessGroup::settleSync>("settleSync"),
                         InstanceMethod<&ProcessGroup::asynchronous<&ProcessGroup::allReduceOf>>("allReduce"),
                         InstanceMethod<&ProcessGroup::synchronous<&ProcessGroup::allReduceOf>>("allReduceSync"),
                         InstanceMethod<&ProcessGroup::asynchronous<&ProcessGroup::allReduceCoalescedOf>>("allReduceCoalesced"),
                         InstanceMethod<&ProcessGroup::synchronous<&ProcessGroup::allReduceCoalescedOf>>(
                             "allReduceCoalescedSync"),
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
                         InstanceMethod<&ProcessGroup::copy<Op::CopyToDevice>>("copyToDevice"),
                         InstanceMethod<&ProcessGroup::copy<Op::CopyToHost>>("copyToHost"),
                         InstanceMethod<&ProcessGroup::messageOnDevice<Op::Send>>("sendOnDevice"),
                         InstanceMethod<&ProcessGroup::messageOnDevice<Op::Receive>>("receiveOnDevice"),
                         InstanceMethod<&ProcessGroup::afterStream>("afterStream"),
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

Napi::Value ProcessGroup::allocateSync(const Napi::CallbackInfo& info) {
  const DType dtype = dtypeOf(info[0]);
  const auto count = static_cast<std::uint64_t>(info[1].As<Napi::Number>().Int64Value());
  const double timeoutMs = info[2].As<Napi::Number>();
  const Fingerprint fingerprint = fingerprintOf(Op::Allocate, ReduceOp::None, dtype, 0, count);
  Allocation allocation;
  const auto allocate = [&](Collectives& collectives, const Call& call) { allocation = collectives.allocate(call); };
  const bool isDone = runSync(info.Env(), workOf(fingerprint, timeoutMs, allocate));
  if (!isDone) return info.Env().Undefined();
  return bufferOf(info.Env(), std::move(allocation), fingerprint.bytes(), true);
}

// (dtype, length, timeoutMs)
Napi::Value ProcessGroup::allocateForHostSync(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto count = static_cast<std::uint64_t>(info[1].As<Napi::Number>().Int64Value());
  const Fingerprint fingerprint = fingerprintOf(Op::Allocate, ReduceOp::None, dtypeOf(info[0]), 0, count);
  HostAllocation shared;
  const auto allocate = [&](Collectives& collectives, const Call& call) { shared = collectives.allocateForHost(call); };
  if (!runSync(env, workOf(fingerprint, info[2].As<Napi::Number>(), allocate))) return env.Undefined();
  Napi::Object result = Napi::Object::New(env);
  result.Set("buffer", bufferOf(env, std::move(shared.allocation), fingerprint.bytes(), false));
  result.Set("place", shared.place);
  result.Set("ranks", shared.ranks);
  return result;
}

// (tensor, dtype, timeoutMs): the memory of the other ranks; null for this rank, whose memory JavaScript has.
Napi::Value ProcessGroup::slicesOfSync(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  const std::size_t bytes = elements.count * bytesPerElement(elements.dtype);
  std::vector<Allocation> slices;
  const auto find = [&](Collectives& collectives, const Call&) { slices = collectives.memoryOfRanks(elements.data, bytes); };
  const Fingerprint fingerprint = fingerprintOf(Op::Allocate, ReduceOp::None, elements.dtype, 0, elements.count);
  if (!runSync(env, workAlone(fingerprint, info[2].As<Napi::Number>(), find)) || slices.empty()) return env.Undefined();
  Napi::Array buffers = Napi::Array::New(env, slices.size());
  for (std::uint32_t rank = 0; rank < slices.size(); ++rank) {
    const bool isOwn = slices[rank].data == elements.data;
    buffers.Set(rank, isOwn ? env.Null() : Napi::Value(bufferOf(env, std::move(slices[rank]), bytes, true)));
  }
  return buffers;
}

// The array buffer owns the memory, so that it may outlive the group, and so that the memory of dropped arrays is freed.
Napi::ArrayBuffer ProcessGroup::bufferOf(Napi::Env env, Allocation allocation, std::size_t bytes, bool isDetached) {
  const std::weak_ptr<const void> observed = allocation.owner;
  auto owner = std::make_unique<std::shared_ptr<const void>>(std::move(allocation.owner));
  auto buffer = Napi::ArrayBuffer::New(
      env, allocation.data, bytes,
      [](Napi::Env, void*, std::shared_ptr<const void>* held) {
        const std::unique_ptr<std::shared_ptr<const void>> released(held);
      },
      owner.get());
  static_cast<void>(owner.release());
  const auto* const begin = static_cast<const std::uint8_t*>(allocation.data);
  allocations_.erase(std::remove_if(allocations_.begin(), allocations_.end(), [](const Allocated& one) { return one.owner.expired(); }),
                     allocations_.end());
  allocations_.push_back({Napi::Weak(buffer), observed, begin, begin + bytes, isDetached});
  return buffer;
}

template <typename Operate>
ProcessGroup::Work ProcessGroup::workOf(const Fingerprint& fingerprint, double timeoutMs, Operate operate) {
  return [this, fingerprint, timeoutMs, operate] { return group_.run(group_.numbered(fingerprint), timeoutMs, operate); };
}

template <typename Operate>
ProcessGroup::Work ProcessGroup::workAlone(const Fingerprint& fingerprint, double timeoutMs, Operate operate) {
  return [this, fingerprint, timeoutMs, operate] { return group_.run(fingerprint, timeoutMs, operate); };
}

// Throws if the array is on a GPU but the group is not.
void ProcessGroup::requireGpuGroup(Napi::Env env, bool onDevice) const {
  if (!onDevice || gpu_ != nullptr) return;
  throw Napi::TypeError::New(env,
                             "tensor is on a GPU, but this group's backend is gloo. Pass a typed array in host memory, or use "
                             "a group with backend nccl");
}

// An operation on arrays. Their location is part of the fingerprint.
Fingerprint ProcessGroup::placed(Napi::Env env, Fingerprint request, bool onDevice) const {
  requireGpuGroup(env, onDevice);
  request.onDevice = onDevice ? 1 : 0;
  return request;
}

// (tensor, dtype, reduceOp, timeoutMs)
ProcessGroup::Work ProcessGroup::allReduceOf(const Napi::CallbackInfo& info) {
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  const Fingerprint request = fingerprintOf(Op::AllReduce, reduceOpOf(info[2]), elements.dtype, 0, elements.count);
  return workOf(placed(info.Env(), request, elements.onDevice), info[3].As<Napi::Number>(),
                [data = elements.data](Collectives& collectives, const Call& call) { collectives.allReduce(call, data); });
}

// (tensor, dtype, reduceOp, timeoutMs, copy): an all-reduce that other threads start.
Napi::Value ProcessGroup::prepareAllReduce(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Work reduce = allReduceOf(info);
  const Elements input = elementsOf(info[0], dtypeOf(info[1]));
  Work work = [owner = requireAllocated(env, input), reduce = std::move(reduce)] { return reduce(); };
  if (!info[4].IsUndefined()) work = copyingFirst(env, input, elementsOf(info[4], input.dtype), std::move(work));
  return wrapOperation(env, std::make_shared<StartableOperation>(startingPoint_, std::move(work)));
}

// The memory of an operation that other threads start must stay as long as the operation.
std::shared_ptr<const void> ProcessGroup::requireAllocated(Napi::Env env, const Elements& elements) const {
  if (auto owner = ownerOf(elements.data)) return owner;
  throw Napi::TypeError::New(env, "expected memory of allocateSync");
}

// Copies the input, also in a group that has failed and so runs nothing.
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
  // The own elements, then those of all ranks.
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
  // As after a graph that has waited for it: a turn of the event loop would cost more than the rest of a step's end.
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

// (device, id, timeoutMs)
Napi::Value ProcessGroup::joinNccl(const Napi::CallbackInfo& info) {
  const int index = info[0].As<Napi::Number>();
  const NcclUniqueId id = uniqueIdOf(info[1]);
  const double timeoutMs = info[2].As<Napi::Number>();
  const auto wrap = [this, index, id](std::unique_ptr<Collectives> cpu, Connections& connections, const Call& call) {
    auto collectives =
        std::make_unique<NcclCollectives>(std::move(cpu), connections, Device::at(index), id, call);
    gpu_ = collectives.get();
    return collectives;
  };
  return runAsync(info.Env(), [this, wrap, timeoutMs] { return group_.wrapCollectives(wrap, timeoutMs); },
               info.Env().Undefined());
}

// (onDevice, host, dtype, timeoutMs): copies as many elements as both arrays have.
template <Op op>
Napi::Value ProcessGroup::copy(const Napi::CallbackInfo& info) {
  const DType dtype = dtypeOf(info[2]);
  const Elements onDevice = elementsOf(info[0], dtype);
  const Elements host = elementsOf(info[1], dtype);
  requireGpuGroup(info.Env(), onDevice.onDevice);
  Fingerprint fingerprint = fingerprintOf(op, ReduceOp::None, dtype, 0, host.count);
  fingerprint.onDevice = 1;
  const auto copyElements = [onDevice, host](Collectives& collectives, const Call& call) {
    auto& gpu = static_cast<NcclCollectives&>(collectives);
    if (op == Op::CopyToDevice) gpu.copyToDevice(call, host.data, onDevice.data);
    if (op == Op::CopyToHost) gpu.copyToHost(call, onDevice.data, host.data);
  };
  return runAsync(info.Env(), workAlone(fingerprint, info[3].As<Napi::Number>(), copyElements), retainedObjects(info));
}

// (tensor, dtype, rank, timeoutMs): in the order of the group's operations, but without a sequence number,
// because other ranks do not take part.
template <Op op>
Napi::Value ProcessGroup::messageOnDevice(const Napi::CallbackInfo& info) {
  const Elements elements = elementsOf(info[0], dtypeOf(info[1]));
  requireGpuGroup(info.Env(), true);
  const int peer = info[2].As<Napi::Number>();
  const auto root = static_cast<std::uint32_t>(peer);
  Fingerprint fingerprint = fingerprintOf(op, ReduceOp::None, elements.dtype, root, elements.count);
  fingerprint.onDevice = 1;
  const auto exchange = [data = elements.data, peer](Collectives& collectives, const Call& call) {
    auto& gpu = static_cast<NcclCollectives&>(collectives);
    if (op == Op::Send) gpu.send(call, data, peer);
    if (op == Op::Receive) gpu.receive(call, data, peer);
  };
  return runAsync(info.Env(), workAlone(fingerprint, info[3].As<Napi::Number>(), exchange), retainedObjects(info));
}

// (stream, timeoutMs): later work of the group's stream starts after the current work of `stream`.
Napi::Value ProcessGroup::afterStream(const Napi::CallbackInfo& info) {
  return synchronizeStreams(info, [](NcclCollectives& gpu, CuStream stream) { gpu.waitForStream(stream); });
}

// (stream, timeoutMs): later work of `stream` starts after the current work of the group's stream.
Napi::Value ProcessGroup::beforeStream(const Napi::CallbackInfo& info) {
  return synchronizeStreams(info, [](NcclCollectives& gpu, CuStream stream) { gpu.makeStreamWait(stream); });
}

template <typename Synchronize>
Napi::Value ProcessGroup::synchronizeStreams(const Napi::CallbackInfo& info, Synchronize synchronize) {
  requireGpuGroup(info.Env(), true);
  bool isExact = false;
  auto* const stream = reinterpret_cast<CuStream>(info[0].As<Napi::BigInt>().Uint64Value(&isExact));
  Fingerprint fingerprint;
  fingerprint.op = Op::CopyToDevice;
  const auto synchronizeBoth = [stream, synchronize](Collectives& collectives, const Call&) {
    synchronize(static_cast<NcclCollectives&>(collectives), stream);
  };
  return runAsync(info.Env(), workAlone(fingerprint, info[1].As<Napi::Number>(), synchronizeBoth), info.Env().Undefined());
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
    auto owner = ownerOf(data);
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

// Called after everything that may throw. Pending operations cannot settle before, because that happens on this
// thread.
void ProcessGroup::keepAlive(Napi::Env env) {
  if (pending_++ == 0) settlement_.Ref(env);
}

// `env` is empty if the environment is ending: promises can no longer settle.
void ProcessGroup::settle(Napi::Env env, Napi::Function, ProcessGroup* self, Pending* pending) {
  const std::unique_ptr<Pending> settled(pending);
  if (env == nullptr) return settled->leaveReferencesToEnvironment();
  if (--self->pending_ == 0) self->settlement_.Unref(env);
  if (settled->detaches) self->detachAllocations();
  if (settled->failure) {
    settled->deferred.Reject(toJs(env, *settled->failure).Value());
  } else if (settled->sender) {
    settled->deferred.Resolve(Napi::Number::New(env, *settled->sender));
  } else {
    settled->deferred.Resolve(env.Undefined());
  }
}

void ProcessGroup::detachAllocations() {
  for (auto& [reference, owner, begin, end, isDetached] : allocations_) {
    Napi::ArrayBuffer buffer = reference.Value();
    if (!isDetached || buffer.IsEmpty() || buffer.IsDetached()) continue;  // JavaScript may have dropped or transferred it
    forgetBuffer(reference.Env(), buffer);
    buffer.Detach();
  }
  allocations_.clear();
}

std::shared_ptr<const void> ProcessGroup::ownerOf(const void* data) const {
  for (const Allocated& one : allocations_) {
    if (data < one.begin || data >= one.end) continue;
    // Memory that was freed may have been mapped again.
    if (auto owner = one.owner.lock()) return owner;
  }
  return nullptr;
}

}  // namespace ringrun
