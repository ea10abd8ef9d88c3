#include "binding/onnx_session.h"

#include <algorithm>
#include <exception>
#include <future>
#include <optional>
#include <utility>

#include "base/thread_scheduling.h"
#include "base/thread_time.h"
#include "base/worker_thread.h"
#include "binding/held_arrays.h"

namespace ringrun {
namespace {

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

// Waking the compute thread and then the JavaScript thread takes 0.1 ms of processor time and more. A longer run leaves the event
// loop free.
constexpr std::chrono::microseconds kShortRun{300};

Napi::Error errorOf(Napi::Env env, const std::string& failure, bool isLibraryFailure) {
  const Napi::Error error = Napi::Error::New(env, failure);
  if (isLibraryFailure) error.Value().Set("code", Napi::String::New(env, "LIBRARY"));
  return error;
}

}  // namespace

// The thread that computes for one JavaScript thread.
struct OnnxSession::ComputeThread {
  WorkerThread worker;
  std::size_t runsWithJavaScript = 0;  // pending runs whose graphs may wait for JavaScript; only the JavaScript thread uses it
};

// The compute thread of the calling JavaScript thread. Ends with its last session. The JavaScript thread stays responsive while
// models compute on all processors: threads of onnxruntime inherit the scheduling of the compute thread, which creates them.
std::shared_ptr<OnnxSession::ComputeThread> OnnxSession::sharedThread(int nice) {
  thread_local std::weak_ptr<ComputeThread> shared;
  std::shared_ptr<ComputeThread> thread = shared.lock();
  if (!thread) {
    shared = thread = std::make_shared<ComputeThread>();
    thread->worker.submit([nice] { giveWayToOtherThreads(nice); });
    preferShortSlices();
  }
  return thread;
}

// A promise, with the session or binding and the arrays, which are kept until it settles.
struct OnnxSession::Pending {
  Napi::Promise::Deferred deferred;
  Napi::ObjectReference object;
  HeldArrays arrays;
  std::size_t run = 0;  // number of the run, for endCall
  Napi::FunctionReference onCall;
  std::vector<OnnxSession*> chained;  // sessions that a chain runs
  std::optional<std::string> failure;
  bool isLibraryFailure = false;
  std::optional<std::size_t> failedCall;

  // An ending environment releases all references itself.
  void leaveReferencesToEnvironment() {
    object.SuppressDestruct();
    onCall.SuppressDestruct();
    arrays.leaveToEnvironment();
  }
};

Napi::Function OnnxSession::define(Napi::Env env) {
  return DefineClass(env, "OnnxSession",
                     {
                         InstanceMethod<&OnnxSession::compile>("compile"),
                         InstanceMethod<&OnnxSession::compileSync>("compileSync"),
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
  // A barrier after the tasks of this session: the last session ends the thread.
  std::promise<void> ended;
  if (session.pending_ > 0 || session.chained_ > 0) {
    session.terminate();
    session.thread_->worker.submit([&ended] { ended.set_value(); });
    ended.get_future().wait();
  }
  session.session_.reset();
  session.thread_.reset();
}

// (model)
Napi::Value OnnxSession::compile(const Napi::CallbackInfo& info) {
  const auto model = info[0].As<Napi::Uint8Array>();
  return runAsync(info.Env(), Value(), model, info.Env().Undefined(), [this, data = model.Data(), bytes = model.ByteLength()](Pending&) {
    load(data, bytes);
  });
}

// (model): on the compute thread, because onnxruntime's threads inherit its scheduling.
void OnnxSession::compileSync(const Napi::CallbackInfo& info) {
  requireNoJavaScriptCalls(info.Env());
  const auto model = info[0].As<Napi::Uint8Array>();
  std::exception_ptr failure;
  thread_->worker.submit([this, &failure, data = model.Data(), bytes = model.ByteLength()] {
    try {
      load(data, bytes);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  thread_->worker.awaitIdle();
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const ort::LibraryError& error) {
    throw errorOf(info.Env(), error.what(), true);
  } catch (const std::exception& error) {
    throw errorOf(info.Env(), error.what(), false);
  }
}

void OnnxSession::load(const void* model, std::size_t bytes) {
  const ort::Library& library = ort::Library::at(libraryPath_);
  {
    const std::lock_guard lock(mutex_);
    libraryVersion_ = library.version();
  }
  replaceSession(std::make_unique<ort::Session>(library, model, bytes, options_, inputs_, outputs_));
}

Napi::Value OnnxSession::run(Napi::Env env, Runs runs) {
  return runAsync(env, runs.binding, runs.holds, runs.onCall,
                  [this, arrays = std::move(runs.arrays), calls = std::move(runs.calls), waits = runs.waits](Pending& pending) {
    if (calls == nullptr) {
      for (const Arrays& own : arrays) compute(own);
      return;
    }
    std::fill_n(waits, 2, 0);
    for (const Arrays& own : arrays) runWithCalls(pending, own, calls, waits);
  });
}

void OnnxSession::runSync(Napi::Env env, const Arrays& arrays) {
  requireNoJavaScriptCalls(env);
  thread_->worker.awaitIdle();
  try {
    compute(arrays);
  } catch (const std::exception& error) {
    throw errorOf(env, error.what(), false);
  }
}

bool OnnxSession::runIfShort(Napi::Env env, const Arrays& arrays) {
  if (lastRun_.load(std::memory_order_relaxed) > kShortRun || !thread_->worker.isIdle()) return false;
  runSync(env, arrays);
  return true;
}

void OnnxSession::compute(const Arrays& arrays) {
  const auto start = threadTime();
  session().run(arrays.inputs, arrays.outputs, nullptr);
  lastRun_.store(threadTime() - start, std::memory_order_relaxed);
}

Napi::Value OnnxSession::runChain(Napi::Env env, std::vector<Link> links, const Napi::Value& holds) {
  OnnxSession& first = *links.front().session;
  std::vector<OnnxSession*> chained;
  for (const Link& link : links) chained.push_back(link.session);
  for (OnnxSession* const session : chained) ++session->chained_;
  return first.runAsync(env, first.Value(), holds, env.Undefined(), [links = std::move(links)](Pending&) {
    for (const Link& link : links) link.session->session().run(link.arrays.inputs, link.arrays.outputs, nullptr);
  }, std::move(chained));
}

void OnnxSession::runChainSync(Napi::Env env, const std::vector<Link>& links) {
  const OnnxSession& first = *links.front().session;
  first.requireNoJavaScriptCalls(env);
  first.thread_->worker.awaitIdle();
  try {
    for (const Link& link : links) link.session->session().run(link.arrays.inputs, link.arrays.outputs, nullptr);
  } catch (const std::exception& error) {
    throw errorOf(env, error.what(), false);
  }
}

void OnnxSession::requireNoJavaScriptCalls(Napi::Env env) const {
  if (thread_->runsWithJavaScript == 0) return;
  throw errorOf(env, "a run that calls JavaScript is pending, which cannot end while this thread blocks: await it first", false);
}

void OnnxSession::runWithCalls(Pending& pending, const Arrays& arrays, const std::shared_ptr<const std::vector<GraphCalls::Call>>& calls,
                               double* waits) {
  const auto call = [this, &pending](std::size_t index) { send(&pending, index); };
  const auto current = std::make_shared<GraphCalls>(calls, arrays.outputs, call);
  setCalls(current, pending.run);
  const auto finish = [&] {
    setCalls(nullptr, 0);
    pending.failedCall = current->failedCall();
    waits[0] += current->waitedMs();
    waits[1] += current->ranMs();
  };
  try {
    session().run(arrays.inputs, arrays.outputs, current.get());
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

// (run, call, succeeded): a JavaScript call of a run has ended. Does nothing if the run has ended.
void OnnxSession::endCall(const Napi::CallbackInfo& info) {
  const std::lock_guard lock(mutex_);
  if (calls_ && info[0].As<Napi::Number>().Int64Value() == static_cast<std::int64_t>(currentRun_)) {
    calls_->end(info[1].As<Napi::Number>().Uint32Value(), info[2].ToBoolean());
  }
}

Napi::Value OnnxSession::release(const Napi::CallbackInfo& info) {
  const Napi::Value nothing = info.Env().Undefined();
  return runAsync(info.Env(), Value(), nothing, nothing, [this](Pending&) { replaceSession(nullptr); });
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

ort::Session& OnnxSession::session() const {
  if (!session_) throw ort::Error("the session was released, or its model was not compiled");
  return *session_;
}

Napi::Value OnnxSession::runAsync(Napi::Env env, const Napi::Object& object, const Napi::Value& holds, const Napi::Value& onCall,
                                   std::function<void(Pending&)> work, std::vector<OnnxSession*> chained) {
  const auto isKept = [](const void*) { return false; };
  auto pending = std::make_unique<Pending>(
      Pending{Napi::Promise::Deferred::New(env), Napi::Persistent(object), HeldArrays(holds, isKept), ++runs_, {}, std::move(chained), {}, {}, {}});
  if (onCall.IsFunction()) {
    pending->onCall = Napi::Persistent(onCall.As<Napi::Function>());
    ++thread_->runsWithJavaScript;
  }
  const Napi::Value promise = pending->deferred.Promise();
  // A std::function must be copyable, so it holds a plain pointer. The JavaScript thread takes it back in `settle`. If
  // that thread is ending, `pending` leaks, because references to JavaScript values must not be released on this one.
  Pending* const waiting = pending.get();
  thread_->worker.submit([this, work = std::move(work), waiting]() mutable {
    try {
      work(*waiting);
    } catch (const ort::LibraryError& error) {
      waiting->failure = error.what();
      waiting->isLibraryFailure = true;
    } catch (const std::exception& error) {
      waiting->failure = error.what();
    }
    // The JavaScript thread may replace what the work shares with the binding as soon as it is notified of the end.
    work = nullptr;
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

// The run is still pending: its end is a later event.
void OnnxSession::callJavaScript(Napi::Env env, const Pending& pending, std::size_t call) {
  pending.onCall.Call({Napi::Number::New(env, static_cast<double>(call)), Napi::Number::New(env, static_cast<double>(pending.run))});
}

void OnnxSession::settle(Napi::Env env, Pending* pending) {
  const std::unique_ptr<Pending> settled(pending);
  if (env == nullptr) return settled->leaveReferencesToEnvironment();
  if (!settled->onCall.IsEmpty()) --thread_->runsWithJavaScript;
  if (--pending_ == 0) events_.Unref(env);
  for (OnnxSession* const session : settled->chained) --session->chained_;
  if (!settled->failure) return settled->deferred.Resolve(env.Undefined());
  Napi::Object error = errorOf(env, *settled->failure, settled->isLibraryFailure).Value();
  if (settled->failedCall) error.Set("failedCall", Napi::Number::New(env, static_cast<double>(*settled->failedCall)));
  settled->deferred.Reject(error);
}

}  // namespace ringrun
