#include "binding/gpu_transfers.h"

#include <cstring>
#include <utility>

#include "binding/elements.h"
#include "binding/promise_queue.h"

namespace ringrun {
namespace {

// So that each copy begins where GPUs copy fastest.
std::size_t aligned(std::size_t bytes) {
  constexpr std::size_t kUnit = 64;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

std::uint32_t lengthOf(const Napi::Value& list) { return list.IsArray() ? list.As<Napi::Array>().Length() : 0; }

std::size_t hostBytes(const Napi::Value& list, const char* key) {
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < lengthOf(list); ++i) bytes += aligned(bytesOf(objectOf(list.As<Napi::Array>().Get(i)).Get(key)).bytes);
  return bytes;
}

}  // namespace

GpuTransfers::GpuTransfers(const Napi::Value& value, ComputeDevice& device) {
  if (!value.IsObject()) return;
  const auto object = value.As<Napi::Object>();
  const Napi::Value uploads = object.Get("uploads");
  const Napi::Value downloads = object.Get("downloads");
  const std::size_t bytes = hostBytes(uploads, "from") + hostBytes(downloads, "to");
  const std::optional<Failure> failure = failureOf([&] {
    if (bytes > 0) staging_ = device.pinned(bytes);
  });
  if (failure) throw errorOf(value.Env(), *failure);
  takeUploads(uploads);
  takeMoves(object.Get("moves"));
  takeDownloads(downloads);
}

void GpuTransfers::takeUploads(const Napi::Value& list) {
  for (std::uint32_t i = 0; i < lengthOf(list); ++i) {
    const Napi::Object one = objectOf(list.As<Napi::Array>().Get(i));
    const ByteSpan from = bytesOf(one.Get("from"));
    if (from.bytes == 0) continue;
    std::uint8_t* const pinned = static_cast<std::uint8_t*>(staging_->data()) + used_;
    uploads_.push_back({partOf(one.Get("to"), one.Get("byteOffset"), from.bytes), pinned, from.bytes, nullptr});
    std::memcpy(pinned, from.data, from.bytes);
    used_ += aligned(from.bytes);
  }
}

void GpuTransfers::takeMoves(const Napi::Value& list) {
  for (std::uint32_t i = 0; i < lengthOf(list); ++i) {
    const Napi::Object one = objectOf(list.As<Napi::Array>().Get(i));
    const std::size_t bytes = sizeOf(one.Get("bytes"));
    const DevicePart from = partOf(one.Get("from"), one.Get("byteOffset"), bytes);
    moves_.push_back({from, partOf(one.Get("to"), one.Get("toOffset"), bytes), bytes});
  }
}

void GpuTransfers::takeDownloads(const Napi::Value& list) {
  for (std::uint32_t i = 0; i < lengthOf(list); ++i) {
    const Napi::Object one = objectOf(list.As<Napi::Array>().Get(i));
    const Napi::Value array = one.Get("to");
    const ByteSpan to = bytesOf(array);
    if (to.bytes == 0) continue;
    std::uint8_t* const pinned = static_cast<std::uint8_t*>(staging_->data()) + used_;
    downloads_.push_back({partOf(one.Get("from"), one.Get("byteOffset"), to.bytes), pinned, to.bytes, to.data});
    targets_.push_back(array);
    used_ += aligned(to.bytes);
  }
}

Napi::Array GpuTransfers::targets(Napi::Env env) const {
  Napi::Array list = Napi::Array::New(env, targets_.size());
  for (std::uint32_t i = 0; i < targets_.size(); ++i) list.Set(i, targets_[i]);
  return list;
}

void GpuTransfers::addBefore(const Stream& stream) const {
  for (const auto& [part, pinned, bytes, array] : uploads_) stream.copyToDevice(part.data, pinned, bytes);
  for (const auto& [from, to, bytes] : moves_) stream.copyOnDevice(to.data, from.data, bytes);
}

void GpuTransfers::addAfter(const Stream& stream) const {
  for (const auto& [part, pinned, bytes, array] : downloads_) stream.copyToHost(pinned, part.data, bytes);
}

void GpuTransfers::received() const {
  for (const auto& [part, pinned, bytes, array] : downloads_) std::memcpy(array, pinned, bytes);
}

}  // namespace ringrun
