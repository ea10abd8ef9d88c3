#include "onnxruntime/memory_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>

#include "base/pages.h"

namespace ringrun::ort {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::align_val_t kCacheLine{64};
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kGrowth = std::size_t{64} << 20;
constexpr std::size_t kLeastReserved = std::size_t{1} << 30;

constexpr std::size_t roundUp(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::size_t physicalMemory() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

MemoryPool& MemoryPool::ofProcess() {
  static auto& pool = *new MemoryPool();
  return pool;
}

MemoryPool::MemoryPool() {
  for (reserved_ = roundUp(physicalMemory(), kHugePage); reserved_ >= kLeastReserved; reserved_ /= 2) {
    // Without access, the range does not count as committed memory.
    void* const range = ::mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    begin_ = static_cast<char*>(range);
    return;
  }
}

MemoryPool::~MemoryPool() {
  if (isAvailable()) ::munmap(begin_, reserved_);
}

void* MemoryPool::allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > reserved_) return nullptr;
  const std::size_t size = roundUp(bytes, kAlignment);
  const std::lock_guard lock(mutex_);
  const auto best = freeBySize_.lower_bound({size, 0});
  Offset offset = end_;
  if (best != freeBySize_.end()) {
    const auto [length, found] = *best;
    offset = found;
    removeFree(free_.find(offset));
    if (length > size) addFree(offset + size, length - size);
  } else {
    if (!growTo(end_ + size)) return nullptr;
    end_ += size;
    touched_ = std::max(touched_, end_);
  }
  used_.emplace(offset, size);
  return begin_ + offset;
}

void MemoryPool::free(void* block) {
  if (block == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto used = used_.find(static_cast<Offset>(static_cast<char*>(block) - begin_));
  const auto [offset, size] = *used;
  used_.erase(used);
  addFree(offset, size);
}

void MemoryPool::trim() {
  const std::lock_guard lock(mutex_);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto giveBack = [&](Offset from, Offset to) {
    from = roundUp(from, page);
    to = to / page * page;
    if (from < to) releasePages(begin_ + from, to - from);
  };
  for (const auto& [offset, size] : free_) giveBack(offset, offset + size);
  giveBack(end_, roundUp(touched_, page));
  touched_ = end_;
}

bool MemoryPool::growTo(Offset end) {
  if (end > reserved_) return false;
  if (end <= writable_) return true;
  const std::size_t next = std::min(roundUp(end, kGrowth), reserved_);
  if (::mprotect(begin_ + writable_, next - writable_, PROT_READ | PROT_WRITE) != 0) return false;
  // Large pages save page faults and misses of address translation (figures: memory_pool.h).
  adviseHugePages(begin_ + writable_, next - writable_);
  writable_ = next;
  return true;
}

void MemoryPool::addFree(Offset offset, std::size_t bytes) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    const auto merged = next++;
    removeFree(merged);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      bytes += previous->second;
      removeFree(previous);
    }
  }
  if (offset + bytes == end_) {
    end_ = offset;
    return;
  }
  free_.emplace(offset, bytes);
  freeBySize_.emplace(bytes, offset);
}

void MemoryPool::removeFree(std::map<Offset, std::size_t>::iterator block) {
  freeBySize_.erase({block->second, block->first});
  free_.erase(block);
}

void* allocateScratch(std::size_t bytes) {
  MemoryPool& pool = MemoryPool::ofProcess();
  void* const block = pool.isAvailable() ? pool.allocate(bytes) : nullptr;
  return block == nullptr && bytes > 0 ? ::operator new(bytes, kCacheLine) : block;
}

void freeScratch(void* block) {
  MemoryPool& pool = MemoryPool::ofProcess();
  if (block == nullptr || (pool.isAvailable() && pool.contains(block))) pool.free(block);
  else ::operator delete(block, kCacheLine);
}

}  // namespace ringrun::ort
