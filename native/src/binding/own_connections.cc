#include "binding/own_connections.h"

#include <cstdint>

#include "base/own_connections.h"

namespace ringrun {

Napi::Value ownConnectionsAtOf(const Napi::CallbackInfo& info) {
  const auto found = ownConnectionsAt(static_cast<std::uint16_t>(info[0].ToNumber().Uint32Value()));
  Napi::Array connections = Napi::Array::New(info.Env(), found.size());
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    Napi::Object connection = Napi::Object::New(info.Env());
    connection.Set("fd", found[i].fd);
    connection.Set("peer", found[i].peer);
    connection.Set("ackedBytes", static_cast<double>(found[i].ackedBytes));
    connection.Set("silentMs", found[i].silentMs);
    connections.Set(i, connection);
  }
  return connections;
}

Napi::Value shutDownConnectionOf(const Napi::CallbackInfo& info) {
  const bool isDone = shutDownConnection(info[0].ToNumber().Int32Value(), info[1].ToString());
  return Napi::Boolean::New(info.Env(), isDone);
}

}  // namespace ringrun
