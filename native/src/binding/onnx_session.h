#pragma once

#include <napi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "binding/graph_calls.h"
#include "onnxruntime/session.h"

namespace ringrun {

// NativeOnnxSession of native/lib/onnx.ts: a model that is compiled and run by onnxruntime, on a compute thread that all
// sessions of a JavaScript thread share. So the event loop is free while a model computes.
class OnnxSession : public Napi::ObjectWrap<OnnxSession> {
 public:
  static Napi::Function define(Napi::Env env);

  // (libraryPath, inputs, outputs, options)
  explicit OnnxSession(const Napi::CallbackInfo& info);
  ~OnnxSession() override;

  const std::vector<ort::Slot>& inputs() const { return inputs_; }
  const std::vector<ort::Slot>& outputs() const { return outputs_; }

  struct Arrays {
    std::vector<void*> inputs;
    std::vector<void*> outputs;
  };

  struct Runs {
    Napi::Object binding;        // kept reachable until they end
    Napi::Value holds;           // arrays whose memory is kept until then, or undefined
    std::vector<Arrays> arrays;  // of each run, at least one
    std::shared_ptr<const std::vector<GraphCalls::Call>> calls;  // of each; null: none
    Napi::Value onCall;
    double* waits;  // milliseconds: receives waitedMs and ranMs of all runs, if they have calls
  };

  // Returns a promise of the end of consecutive runs.
  Napi::Value run(Napi::Env env, Runs runs);

  // Runs a graph without calls on the calling thread, the JavaScript thread.
  void runSync(Napi::Env env, const Arrays& arrays);

  // `runSync` if the last run took less time than waking the compute thread, which is idle. Otherwise returns false.
  bool runIfShort(Napi::Env env, const Arrays& arrays);

  // A run of a session, among those that follow one another.
  struct Link {
    OnnxSession* session;
    Arrays arrays;
  };

  // Runs graphs without calls, one after another, which belong to one JavaScript thread. Returns a promise of the end. `holds`: objects
  // and arrays that are kept until then.
  static Napi::Value runChain(Napi::Env env, std::vector<Link> links, const Napi::Value& holds);

  // `runChain` on the calling thread, the JavaScript thread.
  static void runChainSync(Napi::Env env, const std::vector<Link>& links);

 private:
  struct ComputeThread;
  struct Pending;
  // An event from the compute thread to the JavaScript thread.
  struct Event {
    Pending* pending;
    std::optional<std::size_t> call;  // a call of its graph; otherwise the run has ended
  };
  static void receive(Napi::Env env, Napi::Function, OnnxSession* self, Event* event);
  static void callJavaScript(Napi::Env env, const Pending& pending, std::size_t call);
  void settle(Napi::Env env, Pending* pending);
  using Events = Napi::TypedThreadSafeFunction<OnnxSession, Event, &OnnxSession::receive>;

  static std::shared_ptr<ComputeThread> sharedThread(int nice);

  Napi::Value compile(const Napi::CallbackInfo& info);
  void compileSync(const Napi::CallbackInfo& info);
  void endCall(const Napi::CallbackInfo& info);
  Napi::Value release(const Napi::CallbackInfo& info);
  Napi::Value libraryVersion(const Napi::CallbackInfo& info);

  // `work` receives the object that it settles. `object`: kept reachable until then. `holds`: arrays whose memory is also kept.
  // `chained`: other sessions that it runs.
  Napi::Value runAsync(Napi::Env env, const Napi::Object& object, const Napi::Value& holds, const Napi::Value& onCall,
                       std::function<void(Pending&)> work, std::vector<OnnxSession*> chained = {});
  void send(Pending* pending, std::optional<std::size_t> call);
  void setCalls(std::shared_ptr<GraphCalls> calls, std::size_t run);
  void runWithCalls(Pending& pending, const Arrays& arrays, const std::shared_ptr<const std::vector<GraphCalls::Call>>& calls, double* waits);
  // Throws a JavaScript error if the compute thread may wait for this JavaScript thread, which is about to block.
  void requireNoJavaScriptCalls(Napi::Env env) const;
  ort::Session& session() const;
  // Runs a graph without calls, and measures it.
  void compute(const Arrays& arrays);
  void load(const void* model, std::size_t bytes);
  void replaceSession(std::unique_ptr<ort::Session> session);
  void terminate();

  // If the environment ends (process.exit, terminate) during a run, ends the run before its arrays are freed.
  static void endWithEnvironment(void* self);

  std::string libraryPath_;
  std::string libraryVersion_;  // protected by mutex_
  std::vector<ort::Slot> inputs_;
  std::vector<ort::Slot> outputs_;
  ort::Options options_;
  Events events_;
  std::size_t pending_ = 0;
  std::size_t runs_ = 0;
  std::size_t chained_ = 0;  // pending chains that have a run of this session
  // Processor time of the thread that ran the session last, and wrote it. Time in which other threads had the processor does not
  // count: on a busy machine, a short run would look long, and so would all that follow it.
  std::atomic<std::chrono::nanoseconds> lastRun_{std::chrono::nanoseconds::max()};
  // Created and destroyed on the compute thread, and run there, or on the JavaScript thread while the compute thread is idle.
  // `mutex_` protects the pointers, because the JavaScript thread ends a run and its calls with them.
  std::unique_ptr<ort::Session> session_;
  std::shared_ptr<GraphCalls> calls_;  // of the current run, and its number
  std::size_t currentRun_ = 0;
  bool isEnding_ = false;
  std::mutex mutex_;
  // Empty after the environment has ended.
  std::shared_ptr<ComputeThread> thread_;
};

}  // namespace ringrun
