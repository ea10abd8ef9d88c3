#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "onnxruntime/calls.h"
#include "onnxruntime/library.h"

namespace ringrun::ort {

// An input or output of a model.
struct Slot {
  std::string name;
  int elementType;  // onnx.TensorProto.DataType
  std::vector<std::int64_t> shape;
  std::size_t bytes;
};

struct Options {
  int intraOpThreads = 0;  // 0: one per core
  bool optimizes = true;   // fuses and removes operators
  // Other settings, by onnxruntime's names (onnxruntime_session_options_config_keys.h).
  std::vector<std::pair<std::string, std::string>> entries;
};

// A compiled model on the CPU, which reads and writes the callers' arrays in place. One thread at a time may run it;
// any thread may call terminate().
class Session {
 public:
  // Compiles a model. Throws Error.
  Session(const Library& library, const void* model, std::size_t bytes, const Options& options, const std::vector<Slot>& inputs,
          const std::vector<Slot>& outputs);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Computes the outputs. The arrays are in the order of the slots and have their sizes. `calls`: of the graph's nodes;
  // null if it has none. Throws Error.
  void run(const std::vector<void*>& inputs, const std::vector<void*>& outputs, Calls* calls);

  // Ends the current run and every later one with an Error.
  void terminate() noexcept;

 private:
  using OwnedValue = Owned<Value, ReleaseValue>;

  // The arrays of one side. The library's values are kept as long as the arrays' addresses do not change: those of parameters and
  // gradients never do.
  struct Side {
    std::vector<Slot> slots;
    std::vector<const char*> names;
    std::vector<void*> addresses;
    std::vector<OwnedValue> owned;
    std::vector<Value*> values;
  };

  static Side sideOf(const Library& library, const std::vector<Slot>& slots);
  void place(Side& side, const std::vector<void*>& arrays) const;

  const Library& library_;
  Side inputs_;
  Side outputs_;
  // ringrun's own operators that the model may have.
  Owned<CustomOperatorDomain, ReleaseCustomOpDomain> operators_;
  Owned<RunOptions, ReleaseRunOptions> runOptions_;
  Owned<OnnxSession, ReleaseSession> session_;
};

}  // namespace ringrun::ort
