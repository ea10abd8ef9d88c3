#include "binding/allocations.h"

#include <algorithm>
#include <utility>

#include "binding/held_arrays.h"

namespace ringrun {

// The array buffer owns the memory, so that it may outlive the group, and so that the memory of dropped arrays is freed.
Napi::ArrayBuffer Allocations::bufferOf(Napi::Env env, Allocation allocation, std::size_t bytes, bool isDetached) {
  const std::weak_ptr<const void> observed = allocation.owner;
  auto owner = std::make_unique<std::shared_ptr<const void>>(std::move(allocation.owner));
  auto buffer = Napi::ArrayBuffer::New(
      env, allocation.data, bytes,
      [](Napi::Env, void*, std::shared_ptr<const void>* held) {
        const std::unique_ptr<std::shared_ptr<const void>> released(held);
      },
      owner.get());
  static_cast<void>(owner.release());
  const auto* const begin = static_cast<const std::uint8_t*>(allocation.data);
  known_.erase(std::remove_if(known_.begin(), known_.end(), [](const Known& one) { return one.owner.expired(); }),
                     known_.end());
  known_.push_back({Napi::Weak(buffer), observed, begin, begin + bytes, isDetached});
  return buffer;
}

std::shared_ptr<const void> Allocations::ownerOf(const void* data) const {
  for (const Known& one : known_) {
    if (data < one.begin || data >= one.end) continue;
    // Freed memory may have been mapped again.
    if (auto owner = one.owner.lock()) return owner;
  }
  return nullptr;
}

void Allocations::detach() {
  for (auto& [reference, owner, begin, end, isDetached] : known_) {
    Napi::ArrayBuffer buffer = reference.Value();
    if (!isDetached || buffer.IsEmpty() || buffer.IsDetached()) continue;  // JavaScript may have dropped or transferred it
    forgetBuffer(reference.Env(), buffer);
    buffer.Detach();
  }
  known_.clear();
}

}  // namespace ringrun
