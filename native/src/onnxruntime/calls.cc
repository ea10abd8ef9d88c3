#include "onnxruntime/calls.h"

#include "onnxruntime/library.h"

namespace ringrun::ort {
namespace {

thread_local Calls* currentCalls = nullptr;

}  // namespace

Calls& Calls::current() {
  if (currentCalls == nullptr) throw Error("the graph has calls, but the run has none");
  return *currentCalls;
}

CurrentCalls::CurrentCalls(Calls* calls) { currentCalls = calls; }

CurrentCalls::~CurrentCalls() { currentCalls = nullptr; }

}  // namespace ringrun::ort
