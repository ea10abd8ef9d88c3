#include "onnxruntime/session.h"

#include <string_view>

#include "onnxruntime/operators.h"

namespace ringrun::ort {
namespace {

// True if the bytes of a model contain the name of an operator.
bool mayHave(std::string_view model, const CustomOperator* op) { return model.find(op->getName(op)) != std::string_view::npos; }

}  // namespace

Session::Session(const Library& library, const void* model, std::size_t bytes, const Options& options,
                 const std::vector<Slot>& inputs, const std::vector<Slot>& outputs)
    : library_(library),
      inputs_(sideOf(library, inputs)),
      outputs_(sideOf(library, outputs)),
      operators_(library),
      runOptions_(library),
      session_(library) {
  Owned<SessionOptions, ReleaseSessionOptions> made(library);
  library.call<CreateSessionOptions>(made.out());
  SessionOptions* const settings = made.get();
  library.call<SetIntraOpThreadCount>(settings, options.intraOpThreads);
  library.call<SetInterOpThreadCount>(settings, 1);
  // Errors are thrown anyway; warnings are about optimizations that need constant weights.
  library.call<SetSessionLogSeverityLevel>(settings, kFatal);
  library.call<SetSessionGraphOptimizationLevel>(settings, options.optimizes ? kEnableAll : kDisableAll);
  // A memory pattern allocates one block in addition to the arena of the first run: a step of ResNet-18 (batch 64) takes 2.6 GB
  // and 2.7 s with patterns, 1.6 GB and 2.5 s without. Small models are equally fast.
  library.call<DisableMemoryPattern>(settings);
  if (library.memory() != nullptr) library.call<AddSessionConfigEntry>(settings, "session.use_env_allocators", "1");
  for (const auto& [key, value] : options.entries) library.call<AddSessionConfigEntry>(settings, key.c_str(), value.c_str());
  library.call<CreateCustomOpDomain>(kDomain, operators_.out());
  // A program of a product and its gradient compiles in 1.6 ms instead of 3.5 ms with the operators that it may have.
  const std::string_view text(static_cast<const char*>(model), bytes);
  for (const CustomOperator* const op : ort::operators()) {
    if (mayHave(text, op)) library.call<CustomOpDomainAdd>(operators_.get(), op);
  }
  library.call<AddCustomOpDomain>(settings, operators_.get());
  library.call<CreateRunOptions>(runOptions_.out());
  library.call<CreateSessionFromArray>(library.environment(), model, bytes, settings,
                                       session_.out());
}

Session::~Session() {
  session_.reset();
  // The next program may need less memory, or this was the last one.
  if (library_.memory() != nullptr) library_.memory()->trim();
}

void Session::run(const std::vector<void*>& inputs, const std::vector<void*>& outputs, Calls* calls) {
  const CurrentCalls current(calls);
  place(inputs_, inputs);
  place(outputs_, outputs);
  library_.call<Run>(session_.get(), runOptions_.get(), inputs_.names.data(),
                     inputs_.values.data(), inputs_.values.size(), outputs_.names.data(),
                     outputs_.values.size(), outputs_.values.data());
}

void Session::terminate() noexcept {
  try {
    library_.call<RunOptionsSetTerminate>(runOptions_.get());
  } catch (const Error&) {
    // The run is about to end by itself.
  }
}

Session::Side Session::sideOf(const Library& library, const std::vector<Slot>& slots) {
  Side side;
  side.slots = slots;
  side.addresses.resize(slots.size());
  side.values.resize(slots.size());
  for (const Slot& slot : side.slots) {
    side.names.push_back(slot.name.c_str());
    side.owned.emplace_back(library);
  }
  return side;
}

void Session::place(Side& side, const std::vector<void*>& arrays) const {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (side.values[i] != nullptr && side.addresses[i] == arrays[i]) continue;
    const Slot& slot = side.slots[i];
    side.values[i] = nullptr;
    library_.call<CreateTensorWithData>(library_.hostMemory(), arrays[i], slot.bytes, slot.shape.data(), slot.shape.size(),
                                        slot.elementType, side.owned[i].out());
    side.addresses[i] = arrays[i];
    side.values[i] = side.owned[i].get();
  }
}

}  // namespace ringrun::ort
