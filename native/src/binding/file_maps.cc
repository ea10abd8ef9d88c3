#include "binding/file_maps.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/failure.h"
#include "base/mapping.h"

namespace ringrun {

Napi::Value mapFile(const Napi::CallbackInfo& info) {
  const int fd = info[0].ToNumber().Int32Value();
  const auto bytes = static_cast<std::size_t>(info[1].ToNumber().Int64Value());
  if (bytes == 0) return Napi::ArrayBuffer::New(info.Env(), 0);  // mmap rejects an empty range
  auto mapping = std::make_unique<Mapping>();
  const std::optional<Failure> failure = failureOf([&] { *mapping = Mapping::copyOnWrite(fd, bytes); });
  if (failure) throw Napi::Error::New(info.Env(), failure->detail);
  auto buffer = Napi::ArrayBuffer::New(
      info.Env(), mapping->data(), bytes, [](Napi::Env, void*, Mapping* owner) { delete owner; }, mapping.get());
  mapping.release();  // owned by the ArrayBuffer now
  return buffer;
}

}  // namespace ringrun
