#pragma once

#include <napi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/collectives.h"

namespace ringrun {

// Memory of allocateSync and allocateForHostSync. Its buffer, even after JavaScript has transferred it, and the
// operations that use it own it; this object only refers to it. Belongs to the JavaScript thread.
class Allocations {
 public:
  // A buffer of the memory. `isDetached`: by detach().
  Napi::ArrayBuffer bufferOf(Napi::Env env, Allocation allocation, std::size_t bytes, bool isDetached);

  // The owner of such a buffer's memory; null for other memory.
  std::shared_ptr<const void> ownerOf(const void* data) const;

  // Detaches the buffers when the group is destroyed, and forgets all of them.
  void detach();

 private:
  struct Known {
    Napi::Reference<Napi::ArrayBuffer> buffer;  // weak
    std::weak_ptr<const void> owner;
    const std::uint8_t* begin;
    const std::uint8_t* end;
    bool isDetached;
  };

  std::vector<Known> known_;
};

}  // namespace ringrun
