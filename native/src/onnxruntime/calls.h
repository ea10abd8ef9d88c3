#pragma once

#include <cstddef>
#include <vector>

namespace ringrun::ort {

// Memory outside of a graph.
struct Span {
  void* data;
  std::size_t bytes;
};

// The calls of a graph's nodes during one run, by their attribute `call` (operators/calls.h): operations that need other
// threads or other ranks. The functions run on the compute thread.
class Calls {
 public:
  virtual ~Calls() = default;

  // Starts a call and returns at once.
  virtual void start(std::size_t call) = 0;

  // Blocks until a started call has ended. Throws if it failed.
  virtual void await(std::size_t call) = 0;

  // Starts a call and blocks until it has ended: a collective.
  virtual void run(std::size_t call) = 0;

  // Throws, recording the call as the reason for the failed run: the graph cannot use the received data.
  [[noreturn]] virtual void refuse(std::size_t call) = 0;

  // The arrays that a call reads and writes.
  virtual const std::vector<Span>& sends(std::size_t call) const = 0;
  virtual const std::vector<Span>& receives(std::size_t call) const = 0;

  // The memory of an output of the graph.
  virtual void* output(std::size_t position) const = 0;

  // The calls of the run on this thread: onnxruntime computes the nodes of a graph one after another on the thread of
  // Session::run. Throws Error if the run has none.
  static Calls& current();
};

// While it exists, Calls::current() on this thread.
class CurrentCalls {
 public:
  explicit CurrentCalls(Calls* calls);
  CurrentCalls(const CurrentCalls&) = delete;
  CurrentCalls& operator=(const CurrentCalls&) = delete;
  ~CurrentCalls();
};

}  // namespace ringrun::ort
