#pragma once

// Functions of threads that meet: in a block, in a warp, and in atomic operations. `line` is the line of the caller.

inline void __syncthreads(int line = __builtin_LINE()) { fake_gpu_kernel::awaitBlock(line); }
inline void __syncwarp(unsigned mask = 0xffffffff, int line = __builtin_LINE()) { fake_gpu_kernel::awaitWarp(mask, line); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) {}

namespace fake_gpu_kernel {

// Shows a value to the lanes of the warp. The two places are used in turn: a lane writes the first again only after the lanes of
// the mask have met once more, and so have read it.
template <typename T>
inline unsigned show(unsigned mask, T value, int line) {
  static_assert(sizeof(T) <= sizeof(unsigned long long), "values of warp functions have at most 8 bytes");
  const unsigned self = block->current;
  const unsigned turn = block->turn[self]++ & 1;
  block->values[self][turn] = 0;
  __builtin_memcpy(&block->values[self][turn], &value, sizeof value);
  awaitWarp(mask, line);
  return turn;
}

// The value of a lane; garbage if the mask does not name it or if it does not exist.
template <typename T>
inline T seen(unsigned mask, unsigned lane, unsigned turn) {
  const unsigned thread = block->current / kWarpSize * kWarpSize + lane;
  const bool isDefined = (mask >> lane & 1) != 0 && thread < block->threads;
  const unsigned long long bits = isDefined ? block->values[thread][turn] : 0xdeadbeefdeadbeefull;
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

inline unsigned lane() { return block->current % kWarpSize; }

template <typename T>
inline unsigned long long sumOfBlock(T value, int line) {
  const unsigned self = block->current;
  awaitBlock(line);
  block->values[self][0] = static_cast<unsigned long long>(value);
  awaitBlock(line);
  unsigned long long sum = 0;
  for (unsigned i = 0; i < block->threads; ++i) sum += block->values[i][0];
  awaitBlock(line);
  return sum;
}

}  // namespace fake_gpu_kernel

template <typename T>
inline T __shfl_sync(unsigned mask, T value, int from, int width = 32, int line = __builtin_LINE()) {
  const unsigned turn = fake_gpu_kernel::show(mask, value, line);
  const unsigned lane = fake_gpu_kernel::lane();
  const unsigned size = static_cast<unsigned>(width);
  return fake_gpu_kernel::seen<T>(mask, lane / size * size + (static_cast<unsigned>(from) & (size - 1)), turn);
}

template <typename T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, int line = __builtin_LINE()) {
  const unsigned turn = fake_gpu_kernel::show(mask, value, line);
  const unsigned lane = fake_gpu_kernel::lane();
  const unsigned inGroup = lane % static_cast<unsigned>(width);
  return inGroup < delta ? value : fake_gpu_kernel::seen<T>(mask, lane - delta, turn);
}

template <typename T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, int line = __builtin_LINE()) {
  const unsigned turn = fake_gpu_kernel::show(mask, value, line);
  const unsigned lane = fake_gpu_kernel::lane();
  const unsigned inGroup = lane % static_cast<unsigned>(width);
  return inGroup + delta >= static_cast<unsigned>(width) ? value : fake_gpu_kernel::seen<T>(mask, lane + delta, turn);
}

template <typename T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, int line = __builtin_LINE()) {
  const unsigned turn = fake_gpu_kernel::show(mask, value, line);
  const unsigned lane = fake_gpu_kernel::lane();
  const unsigned from = lane ^ static_cast<unsigned>(bits);
  const unsigned size = static_cast<unsigned>(width);
  return from / size > lane / size ? value : fake_gpu_kernel::seen<T>(mask, from, turn);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE()) {
  const unsigned turn = fake_gpu_kernel::show(mask, predicate != 0 ? 1u : 0u, line);
  const unsigned first = fake_gpu_kernel::block->current / 32 * 32;
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0 || first + lane >= fake_gpu_kernel::block->threads) continue;
    votes |= fake_gpu_kernel::seen<unsigned>(mask, lane, turn) << lane;
  }
  return votes;
}

inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE()) { return __ballot_sync(mask, predicate, line) != 0; }
inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE()) { return __ballot_sync(mask, !predicate, line) == 0; }

inline int __syncthreads_count(int predicate, int line = __builtin_LINE()) {
  return static_cast<int>(fake_gpu_kernel::sumOfBlock(predicate != 0, line));
}
inline int __syncthreads_or(int predicate, int line = __builtin_LINE()) { return __syncthreads_count(predicate, line) != 0; }
inline int __syncthreads_and(int predicate, int line = __builtin_LINE()) { return __syncthreads_count(!predicate, line) == 0; }

// Atomic operations of integers. Of floating-point numbers there are none, because their order would change sums from run to run.
#define FAKE_GPU_ATOMICS(T)                                                                       \
  inline T atomicAdd(T* at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }  \
  inline T atomicOr(T* at, T value) { return __atomic_fetch_or(at, value, __ATOMIC_RELAXED); }    \
  inline T atomicAnd(T* at, T value) { return __atomic_fetch_and(at, value, __ATOMIC_RELAXED); }  \
  inline T atomicExch(T* at, T value) { return __atomic_exchange_n(at, value, __ATOMIC_RELAXED); } \
  inline T atomicCAS(T* at, T expected, T value) {                                                \
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    return expected;                                                                              \
  }                                                                                               \
  inline T atomicMax(T* at, T value) {                                                            \
    T known = *at;                                                                                \
    while (known < value && atomicCAS(at, known, value) != known) known = *at;                    \
    return known;                                                                                 \
  }                                                                                               \
  inline T atomicMin(T* at, T value) {                                                            \
    T known = *at;                                                                                \
    while (known > value && atomicCAS(at, known, value) != known) known = *at;                    \
    return known;                                                                                 \
  }
FAKE_GPU_ATOMICS(int)
FAKE_GPU_ATOMICS(unsigned)
FAKE_GPU_ATOMICS(unsigned long long)
#undef FAKE_GPU_ATOMICS
