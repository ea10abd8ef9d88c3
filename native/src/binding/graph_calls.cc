#include "binding/graph_calls.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/deadline.h"
#include "onnxruntime/library.h"

namespace ringrun {

GraphCalls::GraphCalls(std::shared_ptr<const std::vector<Call>> calls, std::vector<void*> outputs, std::function<void(std::size_t)> callJavaScript)
    : calls_(std::move(calls)), outputs_(std::move(outputs)), callJavaScript_(std::move(callJavaScript)), states_(calls_->size(), State::Pending) {}

void GraphCalls::start(std::size_t call) {
  for (const auto& operation : at(call).operations) operation->start();
  if (at(call).isJavaScript) callJavaScript_(call);
}

void GraphCalls::await(std::size_t call) {
  const Clock::time_point since = Clock::now();
  awaitOperations(call);
  if (at(call).isJavaScript) awaitJavaScript(call);
  waitedMs_ += std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

void GraphCalls::run(std::size_t call) {
  const double before = waitedMs_;
  start(call);
  await(call);
  ranMs_ += waitedMs_ - before;
}

void GraphCalls::awaitOperations(std::size_t call) {
  for (const auto& operation : at(call).operations) {
    while (!operation->waitBriefly()) {
      if (isAborted()) fail(call);
    }
    if (operation->failure()) fail(call);
  }
}

void GraphCalls::awaitJavaScript(std::size_t call) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return isAborted_ || states_[call] != State::Pending; });
  if (states_[call] != State::Succeeded) fail(call);
}

void GraphCalls::fail(std::size_t call) {
  failedCall_ = call;
  throw ort::Error("call " + std::to_string(call) + " failed");
}

bool GraphCalls::isAborted() {
  const std::lock_guard lock(mutex_);
  return isAborted_;
}

void GraphCalls::end(std::size_t call, bool succeeded) {
  const std::lock_guard lock(mutex_);
  if (call >= states_.size()) return;
  states_[call] = succeeded ? State::Succeeded : State::Failed;
  changed_.notify_all();
}

void GraphCalls::abort() {
  const std::lock_guard lock(mutex_);
  isAborted_ = true;
  changed_.notify_all();
}

}  // namespace ringrun
