#pragma once

#include <napi.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/worker_thread.h"
#include "onnxruntime/session.h"

namespace ringrun {

// OnnxSession of native/lib/index.ts: a model that is compiled and run by onnxruntime, on a compute thread that all
// sessions of a JavaScript thread share. So the event loop is free while a model computes.
class OnnxSession : public Napi::ObjectWrap<OnnxSession> {
 public:
  static Napi::Function define(Napi::Env env);

  // (libraryPath, inputs, outputs, options)
  explicit OnnxSession(const Napi::CallbackInfo& info);
  ~OnnxSession() override;

 private:
  struct Pending;
  static void settle(Napi::Env env, Napi::Function, OnnxSession* self, Pending* pending);
  using Settlement = Napi::TypedThreadSafeFunction<OnnxSession, Pending, &OnnxSession::settle>;

  // The arrays of one run.
  struct Arrays {
    std::vector<void*> inputs;
    std::vector<void*> outputs;
  };

  Napi::Value compile(const Napi::CallbackInfo& info);
  Napi::Value run(const Napi::CallbackInfo& info);
  Napi::Value release(const Napi::CallbackInfo& info);

  Arrays arraysOf(const Napi::CallbackInfo& info) const;
  Napi::Value runAsync(const Napi::CallbackInfo& info, WorkerThread::Task work);
  ort::Session& session() const;
  void replaceSession(std::unique_ptr<ort::Session> session);
  void terminate();

  // If the environment ends (process.exit, terminate) during a run, ends the run before its arrays are freed.
  static void endWithEnvironment(void* self);

  std::string libraryPath_;
  std::vector<ort::Slot> inputs_;
  std::vector<ort::Slot> outputs_;
  ort::Options options_;
  Settlement settlement_;
  std::size_t pending_ = 0;
  // Created, run and destroyed on the compute thread. `mutex_` protects the pointer, because the JavaScript thread ends
  // a run with it.
  std::unique_ptr<ort::Session> session_;
  std::mutex mutex_;
  // Empty after the environment has ended.
  std::shared_ptr<WorkerThread> thread_;
};

}  // namespace ringrun
