#pragma once

#include <napi.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "binding/graph_calls.h"
#include "binding/held_slots.h"
#include "binding/onnx_session.h"
#include "onnxruntime/session.h"

namespace ringrun {

// NativeOnnxBinding of native/lib/onnx.ts: the arrays and calls of runs of one session (onnxruntime's IoBinding). A
// run sets up only the arrays and calls that differ from the previous run.
class OnnxBinding : public Napi::ObjectWrap<OnnxBinding> {
 public:
  static Napi::Function define(Napi::Env env);

  // (session, inputs, outputs)
  explicit OnnxBinding(const Napi::CallbackInfo& info);

 private:
  void replace(const Napi::CallbackInfo& info);
  void setCalls(const Napi::CallbackInfo& info);
  Napi::Value run(const Napi::CallbackInfo& info);
  void runSync(const Napi::CallbackInfo& info);
  Napi::Value runEach(const Napi::CallbackInfo& info);
  void release(const Napi::CallbackInfo& info);
  Napi::Value waits(const Napi::CallbackInfo& info);

  void placeAll(const Napi::Value& arrays, const std::vector<ort::Slot>& slots, std::size_t firstSlot);
  void place(std::size_t slot, const Napi::Value& array);
  const ort::Slot& slotAt(std::size_t slot) const;
  static void*& placeOf(OnnxSession::Arrays& arrays, std::size_t slot);

  OnnxSession& session_;
  // Keeps the session, the objects of the calls, and the array of `waits_`.
  Napi::ObjectReference sessionObject_;
  Napi::ObjectReference callsObject_;
  Napi::ObjectReference waitsArray_;
  double* waits_;
  OnnxSession::Arrays arrays_;
  std::shared_ptr<const std::vector<GraphCalls::Call>> calls_;
  HeldSlots held_;  // of the inputs, then of the outputs
};

}  // namespace ringrun
