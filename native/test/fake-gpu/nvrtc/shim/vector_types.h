#pragma once

// CUDA's vector types, with CUDA's alignment.

#define FAKE_GPU_VECTOR(name, T)                                                                       \
  struct name##1 {                                                                                     \
    T x;                                                                                               \
  };                                                                                                   \
  struct alignas(2 * sizeof(T)) name##2 {                                                              \
    T x, y;                                                                                            \
  };                                                                                                   \
  struct name##3 {                                                                                     \
    T x, y, z;                                                                                         \
  };                                                                                                   \
  struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) name##4 {                                    \
    T x, y, z, w;                                                                                      \
  };                                                                                                   \
  inline name##1 make_##name##1(T x) { return {x}; }                                                   \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                           \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                   \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

FAKE_GPU_VECTOR(char, signed char)
FAKE_GPU_VECTOR(uchar, unsigned char)
FAKE_GPU_VECTOR(short, short)
FAKE_GPU_VECTOR(ushort, unsigned short)
FAKE_GPU_VECTOR(int, int)
FAKE_GPU_VECTOR(uint, unsigned)
FAKE_GPU_VECTOR(longlong, long long)
FAKE_GPU_VECTOR(ulonglong, unsigned long long)
FAKE_GPU_VECTOR(float, float)
FAKE_GPU_VECTOR(double, double)

#undef FAKE_GPU_VECTOR

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3() = default;
  constexpr dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
