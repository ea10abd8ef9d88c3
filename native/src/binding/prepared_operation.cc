#include "binding/prepared_operation.h"

#include <utility>

namespace ringrun {
namespace {

using Held = std::shared_ptr<StartableOperation>;

constexpr napi_type_tag kPreparedOperationTag{0x8a3b5c0e6d914f27, 0xb1f4907c2e5d6a83};

}  // namespace

Napi::Value wrapOperation(Napi::Env env, std::shared_ptr<StartableOperation> operation) {
  auto held = std::make_unique<Held>(std::move(operation));
  auto object = Napi::External<Held>::New(env, held.get(), [](Napi::Env, Held* released) { const std::unique_ptr<Held> owner(released); });
  static_cast<void>(held.release());
  object.TypeTag(&kPreparedOperationTag);
  return object;
}

std::shared_ptr<StartableOperation> operationOf(const Napi::Value& value) {
  const bool isOperation = value.IsExternal() && value.As<Napi::External<Held>>().CheckTypeTag(&kPreparedOperationTag);
  if (!isOperation) throw Napi::TypeError::New(value.Env(), "expected an operation of prepareAllReduce");
  return *value.As<Napi::External<Held>>().Data();
}

}  // namespace ringrun
