#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "binding/startable_operation.h"
#include "onnxruntime/calls.h"

namespace ringrun {

// The calls of one run of a graph: each starts operations of a group, or calls JavaScript.
//
// A call does not need the compute thread that waits for it: operations have their own thread, and JavaScript runs on
// the thread that called run(), which is free meanwhile. So a JavaScript call must not wait for another run on the same
// compute thread, and no run with a JavaScript call may block the JavaScript thread.
class GraphCalls final : public ort::Calls {
 public:
  struct Call {
    // Started in this order.
    std::vector<std::shared_ptr<StartableOperation>> operations;
    bool isJavaScript = false;
    std::vector<ort::Span> sends;
    std::vector<ort::Span> receives;
  };

  // `callJavaScript` returns at once; end() follows on another thread if the graph awaits the call.
  GraphCalls(std::shared_ptr<const std::vector<Call>> calls, std::vector<void*> outputs, std::function<void(std::size_t)> callJavaScript);

  void start(std::size_t call) override;
  void await(std::size_t call) override;
  void run(std::size_t call) override;
  [[noreturn]] void refuse(std::size_t call) override { fail(call); }
  const std::vector<ort::Span>& sends(std::size_t call) const override { return at(call).sends; }
  const std::vector<ort::Span>& receives(std::size_t call) const override { return at(call).receives; }
  void* output(std::size_t position) const override { return outputs_.at(position); }

  // Any thread: a JavaScript call has ended.
  void end(std::size_t call, bool succeeded);

  // Any thread: ends all waits with an error.
  void abort();

  // After the run: the call whose failure ended it, and the milliseconds for which it waited for all calls, and for those
  // of run().
  std::optional<std::size_t> failedCall() const { return failedCall_; }
  double waitedMs() const { return waitedMs_; }
  double ranMs() const { return ranMs_; }

 private:
  enum class State { Pending, Succeeded, Failed };

  const Call& at(std::size_t call) const { return calls_->at(call); }
  bool isAborted();
  void awaitOperations(std::size_t call);
  void awaitJavaScript(std::size_t call);
  [[noreturn]] void fail(std::size_t call);

  const std::shared_ptr<const std::vector<Call>> calls_;
  const std::vector<void*> outputs_;
  const std::function<void(std::size_t)> callJavaScript_;
  std::optional<std::size_t> failedCall_;
  double waitedMs_ = 0;
  double ranMs_ = 0;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<State> states_;
  bool isAborted_ = false;
};

}  // namespace ringrun
