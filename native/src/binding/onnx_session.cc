#include "binding/onnx_session.h"

#include <future>
#include <optional>
#include <utility>

#include "base/thread_scheduling.h"
#include "binding/held_arrays.h"
#include "binding/prepared_operation.h"

namespace ringrun {
namespace {

// The compute thread of the calling JavaScript thread. Ends with its last session. The JavaScript thread answers while models
// compute on all processors: threads of onnxruntime inherit the scheduling of the compute thread, which creates them.
std::shared_ptr<WorkerThread> sharedThread(int nice) {
  thread_local std::weak_ptr<WorkerThread> shared;
  std::shared_ptr<WorkerThread> thread = shared.lock();
  if (!thread) {
    shared = thread = std::make_shared<WorkerThread>();
    thread->submit([nice] { giveWayToOtherThreads(nice); });
    preferShortSlices();
  }
  return thread;
}

// [{ name, elementType, elementBytes, shape }]
std::vector<ort::Slot> slotsOf(const Napi::Value& value) {
  const auto list = value.As<Napi::Array>();
  std::vector<ort::Slot> slots;
  for (std::uint32_t i = 0; i < list.Length(); ++i) {
    const auto object = list.Get(i).As<Napi::Object>();
    ort::Slot slot{object.Get("name").ToString(), object.Get("elementType").ToNumber(), {}, object.Get("elementBytes").ToNumber().Uint32Value()};
    const auto shape = object.Get("shape").As<Napi::Array>();
    for (std::uint32_t axis = 0; axis < shape.Length(); ++axis) {
      slot.shape.push_back(shape.Get(axis).ToNumber().Int64Value());
      slot.bytes *= static_cast<std::size_t>(slot.shape.back());
    }
    slots.push_back(std::move(slot));
  }
  return slots;
}

ort::Options optionsOf(const Napi::Object& object) {
  ort::Options options;
  options.intraOpThreads = object.Get("intraOpThreads").ToNumber();
  options.optimizes = object.Get("optimizes").ToBoolean();
  const auto entries = object.Get("entries").As<Napi::Object>();
  for (const auto& entry : entries) {
    options.entries.emplace_back(entry.first.ToString(), static_cast<Napi::Value>(entry.second).ToString());
  }
  return options;
}

std::size_t bytesPerElement(napi_typedarray_type type) {
  switch (type) {
    case napi_int16_array:
    case napi_uint16_array:
      return 2;
    case napi_int32_array:
    case napi_uint32_array:
    case napi_float32_array:
      return 4;
    case napi_float64_array:
    case napi_bigint64_array:
    case napi_biguint64_array:
      return 8;
    default:
      return 1;
  }
}

// The address of a typed array that has the size of a slot. Throws a TypeError otherwise.
void* addressOf(const Napi::Value& value, const ort::Slot& slot) {
  napi_typedarray_type type = napi_int8_array;
  std::size_t length = 0;
  void* data = nullptr;
  const bool isTypedArray = napi_get_typedarray_info(value.Env(), value, &type, &length, &data, nullptr, nullptr) == napi_ok;
  const std::size_t bytes = length * bytesPerElement(type);
  if (!isTypedArray || bytes != slot.bytes) {
    const std::string given = isTypedArray ? std::to_string(bytes) + " bytes" : "no typed array";
    throw Napi::TypeError::New(value.Env(), slot.name + ": expected a typed array of " + std::to_string(slot.bytes) + " bytes, got " + given);
  }
  // The library requires an address even for 0 bytes, and an empty array may have none.
  static std::uint8_t nothing;
  return bytes == 0 ? &nothing : data;
}

// [array, …]
std::vector<ort::Span> spansOf(const Napi::Value& value) {
  std::vector<ort::Span> spans;
  if (!value.IsArray()) return spans;
  const auto arrays = value.As<Napi::Array>();
  for (std::uint32_t i = 0; i < arrays.Length(); ++i) {
    auto array = static_cast<Napi::Value>(arrays.Get(i)).As<Napi::Float32Array>();
    if (!array.IsTypedArray()) throw Napi::TypeError::New(value.Env(), "expected a typed array of a call, got another value");
    spans.push_back({array.Data(), array.ByteLength()});
  }
  return spans;
}

}  // namespace

// A promise, and the session and the arrays, which are kept until it settles.
struct OnnxSession::Pending {
  Napi::Promise::Deferred deferred;
  Napi::ObjectReference session;
  Napi::ObjectReference held;
  HeldArrays arrays;
  std::size_t run = 0;  // number of the run, for endCall
  Napi::FunctionReference onCall;
  std::optional<std::string> failure;
  bool isLibraryFailure = false;
  std::optional<std::size_t> failedCall;
  double waitedMs = 0;
  double ranMs = 0;
  bool hasCalls = false;

  // An environment that is ending releases all references itself.
  void leaveReferencesToEnvironment() {
    session.SuppressDestruct();
    held.SuppressDestruct();
    onCall.SuppressDestruct();
    arrays.leaveToEnvironment();
  }
};

Napi::Function OnnxSession::define(Napi::Env env) {
  return DefineClass(env, "OnnxSession",
                     {
                         InstanceMethod<&OnnxSession::compile>("compile"),
                         InstanceMethod<&OnnxSession::run>("run"),
                         InstanceMethod<&OnnxSession::endCall>("endCall"),
                         InstanceMethod<&OnnxSession::release>("release"),
                         InstanceMethod<&OnnxSession::libraryVersion>("libraryVersion"),
                     });
}

OnnxSession::OnnxSession(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<OnnxSession>(info),
      libraryPath_(info[0].ToString()),
      inputs_(slotsOf(info[1])),
      outputs_(slotsOf(info[2])),
      held_(inputs_.size() + outputs_.size()),
      options_(optionsOf(info[3].As<Napi::Object>())),
      events_(Events::New(info.Env(), "ringrun onnxruntime", 0, 1, this)),
      thread_(sharedThread(info[3].As<Napi::Object>().Get("computeNice").ToNumber())) {
  events_.Unref(info.Env());
  napi_add_env_cleanup_hook(info.Env(), &OnnxSession::endWithEnvironment, this);
}

// Nothing is pending, because pending runs refer to this object.
OnnxSession::~OnnxSession() {
  if (!thread_) return;
  napi_remove_env_cleanup_hook(Env(), &OnnxSession::endWithEnvironment, this);
  events_.Release();
}

void OnnxSession::endWithEnvironment(void* self) {
  auto& session = *static_cast<OnnxSession*>(self);
  // A barrier behind the tasks of this session: the last session ends the thread.
  std::promise<void> ended;
  if (session.pending_ > 0) {
    session.terminate();
    session.thread_->submit([&ended] { ended.set_value(); });
    ended.get_future().wait();
  }
  session.session_.reset();
  session.thread_.reset();
}

// (model)
Napi::Value OnnxSession::compile(const Napi::CallbackInfo& info) {
  const auto model = info[0].As<Napi::Uint8Array>();
  Napi::Array holds = Napi::Array::New(info.Env());
  holds.Set(0U, model);
  return runAsync(info.Env(), holds, holds, info.Env().Undefined(), [this, data = model.Data(), bytes = model.ByteLength()](Pending&) {
    const ort::Library& library = ort::Library::at(libraryPath_);
    {
      const std::lock_guard lock(mutex_);
      libraryVersion_ = library.version();
    }
    replaceSession(std::make_unique<ort::Session>(library, data, bytes, options_, inputs_, outputs_));
  });
}

// (inputs, outputs, calls?, onCall?)
Napi::Value OnnxSession::run(const Napi::CallbackInfo& info) {
  Arrays arrays = arraysOf(info);
  std::vector<GraphCalls::Call> calls = callsOf(info[2]);
  auto& [inputs, outputs, held] = arrays;
  if (calls.empty()) {
    return runAsync(info.Env(), held.held, held.added, info[3], [this, inputs = std::move(inputs), outputs = std::move(outputs)](Pending&) {
      session().run(inputs, outputs, nullptr);
    });
  }
  // Operations, and the arrays of calls.
  held.added.Set(held.added.Length(), info[2]);
  return runAsync(info.Env(), held.held, held.added, info[3],
                  [this, inputs = std::move(inputs), outputs = std::move(outputs), calls = std::move(calls)](Pending& pending) {
    const auto call = [this, &pending](std::size_t index) { send(&pending, index); };
    const auto current = std::make_shared<GraphCalls>(calls, outputs, call);
    setCalls(current, pending.run);
    const auto finish = [&] {
      setCalls(nullptr, 0);
      pending.failedCall = current->failedCall();
      pending.waitedMs = current->waitedMs();
      pending.ranMs = current->ranMs();
      pending.hasCalls = true;
    };
    try {
      session().run(inputs, outputs, current.get());
    } catch (...) {
      finish();
      throw;
    }
    finish();
  });
}

// (run, call, succeeded): a JavaScript call of a run has ended. Does nothing if the run has ended.
void OnnxSession::endCall(const Napi::CallbackInfo& info) {
  const std::lock_guard lock(mutex_);
  if (calls_ && info[0].As<Napi::Number>().Int64Value() == static_cast<std::int64_t>(currentRun_)) {
    calls_->end(info[1].As<Napi::Number>().Uint32Value(), info[2].ToBoolean());
  }
}

Napi::Value OnnxSession::release(const Napi::CallbackInfo& info) {
  const Napi::Array nothing = Napi::Array::New(info.Env());
  return runAsync(info.Env(), nothing, nothing, info.Env().Undefined(), [this](Pending&) { replaceSession(nullptr); });
}

Napi::Value OnnxSession::libraryVersion(const Napi::CallbackInfo& info) {
  const std::lock_guard lock(mutex_);
  return Napi::String::New(info.Env(), libraryVersion_);
}

void OnnxSession::replaceSession(std::unique_ptr<ort::Session> session) {
  // The previous session is released without the lock.
  const std::lock_guard lock(mutex_);
  session_.swap(session);
}

void OnnxSession::setCalls(std::shared_ptr<GraphCalls> calls, std::size_t run) {
  const std::lock_guard lock(mutex_);
  calls_ = std::move(calls);
  currentRun_ = run;
  if (calls_ && isEnding_) calls_->abort();
}

void OnnxSession::terminate() {
  const std::lock_guard lock(mutex_);
  isEnding_ = true;
  if (calls_) calls_->abort();
  if (session_) session_->terminate();
}

OnnxSession::Arrays OnnxSession::arraysOf(const Napi::CallbackInfo& info) {
  HeldSlots::Run held(info.Env(), inputs_.size() + outputs_.size());
  std::vector<void*> inputs = addressesOf(info[0], inputs_, 0, held);
  std::vector<void*> outputs = addressesOf(info[1], outputs_, inputs_.size(), held);
  return {std::move(inputs), std::move(outputs), held};
}

std::vector<void*> OnnxSession::addressesOf(const Napi::Value& value, const std::vector<ort::Slot>& slots, std::size_t firstSlot,
                                            HeldSlots::Run& held) {
  const auto arrays = value.As<Napi::Array>();
  if (arrays.Length() != slots.size()) {
    throw Napi::TypeError::New(value.Env(), "expected " + std::to_string(slots.size()) + " arrays, got " + std::to_string(arrays.Length()));
  }
  std::vector<void*> addresses;
  addresses.reserve(slots.size());
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    const Napi::Value array = arrays.Get(i);
    addresses.push_back(addressOf(array, slots[i]));
    if (slots[i].bytes > 0) held_.hold(firstSlot + i, array, addresses.back(), held);
  }
  return addresses;
}

ort::Session& OnnxSession::session() const {
  if (!session_) throw ort::Error("the session was released, or its model was not compiled");
  return *session_;
}

// [{ operations?, sends?, receives? }]: a call without operations is one of JavaScript.
std::vector<GraphCalls::Call> OnnxSession::callsOf(const Napi::Value& value) const {
  std::vector<GraphCalls::Call> calls;
  if (!value.IsArray()) return calls;
  const auto list = value.As<Napi::Array>();
  for (std::uint32_t i = 0; i < list.Length(); ++i) {
    const auto object = static_cast<Napi::Value>(list.Get(i)).As<Napi::Object>();
    GraphCalls::Call call;
    const Napi::Value operations = object.Get("operations");
    call.isJavaScript = !operations.IsArray();
    if (!call.isJavaScript) {
      const auto given = operations.As<Napi::Array>();
      for (std::uint32_t j = 0; j < given.Length(); ++j) call.operations.push_back(operationOf(given.Get(j)));
    }
    call.sends = spansOf(object.Get("sends"));
    call.receives = spansOf(object.Get("receives"));
    calls.push_back(std::move(call));
  }
  return calls;
}

Napi::Value OnnxSession::runAsync(Napi::Env env, const Napi::Object& held, const Napi::Array& holds, const Napi::Value& onCall,
                                   std::function<void(Pending&)> work) {
  const auto isKept = [](const void*) { return false; };
  auto pending = std::make_unique<Pending>(Pending{Napi::Promise::Deferred::New(env), Napi::Persistent(Value()), Napi::Persistent(held),
                                                   HeldArrays(holds.Length() > 0 ? Napi::Value(holds) : env.Undefined(), isKept), ++runs_, {}, {}, {}, {}, 0, 0, false});
  if (onCall.IsFunction()) pending->onCall = Napi::Persistent(onCall.As<Napi::Function>());
  const Napi::Value promise = pending->deferred.Promise();
  // A std::function must be copyable, so it holds a plain pointer. The JavaScript thread takes it back in `settle`. If
  // that thread is ending, `pending` leaks, because references to JavaScript values must not be released on this one.
  Pending* const waiting = pending.get();
  thread_->submit([this, work = std::move(work), waiting] {
    try {
      work(*waiting);
    } catch (const ort::LibraryError& error) {
      waiting->failure = error.what();
      waiting->isLibraryFailure = true;
    } catch (const std::exception& error) {
      waiting->failure = error.what();
    }
    send(waiting, std::nullopt);
  });
  static_cast<void>(pending.release());
  if (pending_++ == 0) events_.Ref(env);
  return promise;
}

// On the compute thread. The JavaScript thread takes ownership of the event.
void OnnxSession::send(Pending* pending, std::optional<std::size_t> call) {
  events_.NonBlockingCall(new Event{pending, call});
}

// `env` is empty if the environment is ending: promises can no longer settle.
void OnnxSession::receive(Napi::Env env, Napi::Function, OnnxSession* self, Event* event) {
  const std::unique_ptr<Event> received(event);
  if (!received->call) {
    self->settle(env, received->pending);
  } else if (env != nullptr) {
    callJavaScript(env, *received->pending, *received->call);
  }
}

// The run is pending: its end is a later event.
void OnnxSession::callJavaScript(Napi::Env env, const Pending& pending, std::size_t call) {
  pending.onCall.Call({Napi::Number::New(env, static_cast<double>(call)), Napi::Number::New(env, static_cast<double>(pending.run))});
}

void OnnxSession::settle(Napi::Env env, Pending* pending) {
  const std::unique_ptr<Pending> settled(pending);
  if (env == nullptr) return settled->leaveReferencesToEnvironment();
  if (--pending_ == 0) events_.Unref(env);
  if (!settled->failure) {
    if (!settled->hasCalls) return settled->deferred.Resolve(env.Undefined());
    Napi::Object waits = Napi::Object::New(env);
    waits.Set("waitedMs", Napi::Number::New(env, settled->waitedMs));
    waits.Set("ranMs", Napi::Number::New(env, settled->ranMs));
    return settled->deferred.Resolve(waits);
  }
  Napi::Object error = Napi::Error::New(env, *settled->failure).Value();
  if (settled->isLibraryFailure) error.Set("code", Napi::String::New(env, "LIBRARY"));
  if (settled->failedCall) error.Set("failedCall", Napi::Number::New(env, static_cast<double>(*settled->failedCall)));
  settled->deferred.Reject(error);
}

}  // namespace ringrun
