#pragma once

// CUDA's mathematical functions and intrinsics. Intrinsics of lower precision have full precision here.

#define FAKE_GPU_MATH(name, builtin)                        \
  inline float name##f(float x) { return builtin##f(x); }   \
  inline float name(float x) { return builtin##f(x); }      \
  inline double name(double x) { return builtin(x); }
FAKE_GPU_MATH(sqrt, __builtin_sqrt)
FAKE_GPU_MATH(exp, __builtin_exp)
FAKE_GPU_MATH(exp2, __builtin_exp2)
FAKE_GPU_MATH(expm1, __builtin_expm1)
FAKE_GPU_MATH(log, __builtin_log)
FAKE_GPU_MATH(log2, __builtin_log2)
FAKE_GPU_MATH(log10, __builtin_log10)
FAKE_GPU_MATH(log1p, __builtin_log1p)
FAKE_GPU_MATH(sin, __builtin_sin)
FAKE_GPU_MATH(cos, __builtin_cos)
FAKE_GPU_MATH(tan, __builtin_tan)
FAKE_GPU_MATH(asin, __builtin_asin)
FAKE_GPU_MATH(acos, __builtin_acos)
FAKE_GPU_MATH(atan, __builtin_atan)
FAKE_GPU_MATH(sinh, __builtin_sinh)
FAKE_GPU_MATH(cosh, __builtin_cosh)
FAKE_GPU_MATH(tanh, __builtin_tanh)
FAKE_GPU_MATH(asinh, __builtin_asinh)
FAKE_GPU_MATH(acosh, __builtin_acosh)
FAKE_GPU_MATH(atanh, __builtin_atanh)
FAKE_GPU_MATH(erf, __builtin_erf)
FAKE_GPU_MATH(erfc, __builtin_erfc)
FAKE_GPU_MATH(lgamma, __builtin_lgamma)
FAKE_GPU_MATH(tgamma, __builtin_tgamma)
FAKE_GPU_MATH(cbrt, __builtin_cbrt)
FAKE_GPU_MATH(fabs, __builtin_fabs)
FAKE_GPU_MATH(floor, __builtin_floor)
FAKE_GPU_MATH(ceil, __builtin_ceil)
FAKE_GPU_MATH(trunc, __builtin_trunc)
FAKE_GPU_MATH(round, __builtin_round)
FAKE_GPU_MATH(rint, __builtin_rint)
FAKE_GPU_MATH(nearbyint, __builtin_nearbyint)
#undef FAKE_GPU_MATH

#define FAKE_GPU_MATH2(name, builtin)                                     \
  inline float name##f(float x, float y) { return builtin##f(x, y); }     \
  inline float name(float x, float y) { return builtin##f(x, y); }        \
  inline double name(double x, double y) { return builtin(x, y); }
FAKE_GPU_MATH2(fmin, __builtin_fmin)
FAKE_GPU_MATH2(fmax, __builtin_fmax)
FAKE_GPU_MATH2(pow, __builtin_pow)
FAKE_GPU_MATH2(fmod, __builtin_fmod)
FAKE_GPU_MATH2(remainder, __builtin_remainder)
FAKE_GPU_MATH2(atan2, __builtin_atan2)
FAKE_GPU_MATH2(hypot, __builtin_hypot)
FAKE_GPU_MATH2(copysign, __builtin_copysign)
#undef FAKE_GPU_MATH2

inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
inline int abs(int x) { return __builtin_abs(x); }
inline long long abs(long long x) { return __builtin_llabs(x); }
inline float ldexpf(float x, int exponent) { return __builtin_ldexpf(x, exponent); }
inline float fdividef(float x, float y) { return x / y; }
inline float __fdividef(float x, float y) { return x / y; }
inline float __expf(float x) { return __builtin_expf(x); }
inline float __exp10f(float x) { return __builtin_powf(10.0f, x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __log2f(float x) { return __builtin_log2f(x); }
inline float __powf(float x, float y) { return __builtin_powf(x, y); }
inline float __sinf(float x) { return __builtin_sinf(x); }
inline float __cosf(float x) { return __builtin_cosf(x); }
inline float __tanf(float x) { return __builtin_tanf(x); }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) {
  float product = x * y;
  // Never part of a fused multiplication and addition, as on a GPU.
#ifdef __aarch64__
  asm("" : "+w"(product));
#else
  asm("" : "+x"(product));
#endif
  return product;
}
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
// Otherwise macros of <math.h>, and functions of the same names in CUDA.
inline bool isnan(float x) { return __builtin_isnan(x); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }

#define FAKE_GPU_MIN_MAX(T)                            \
  inline T min(T x, T y) { return x < y ? x : y; }     \
  inline T max(T x, T y) { return x > y ? x : y; }
FAKE_GPU_MIN_MAX(int)
FAKE_GPU_MIN_MAX(unsigned)
FAKE_GPU_MIN_MAX(long)
FAKE_GPU_MIN_MAX(unsigned long)
FAKE_GPU_MIN_MAX(long long)
FAKE_GPU_MIN_MAX(unsigned long long)
#undef FAKE_GPU_MIN_MAX
inline float min(float x, float y) { return __builtin_fminf(x, y); }
inline float max(float x, float y) { return __builtin_fmaxf(x, y); }
inline double min(double x, double y) { return __builtin_fmin(x, y); }
inline double max(double x, double y) { return __builtin_fmax(x, y); }

namespace fake_gpu_kernel {

template <typename To, typename From>
inline To bitCast(From value) {
  static_assert(sizeof(To) == sizeof(From), "bitCast");
  To result;
  __builtin_memcpy(&result, &value, sizeof result);
  return result;
}

// Out of range values saturate, and NaN is 0, as on a GPU.
template <typename Integer, typename Float>
inline Integer convert(Float value, Integer lowest, Integer highest) {
  if (__builtin_isnan(value)) return 0;
  if (value <= static_cast<Float>(lowest)) return lowest;
  if (value >= static_cast<Float>(highest)) return highest;
  return static_cast<Integer>(value);
}

}  // namespace fake_gpu_kernel

inline int __float_as_int(float x) { return fake_gpu_kernel::bitCast<int>(x); }
inline unsigned __float_as_uint(float x) { return fake_gpu_kernel::bitCast<unsigned>(x); }
inline float __int_as_float(int x) { return fake_gpu_kernel::bitCast<float>(x); }
inline float __uint_as_float(unsigned x) { return fake_gpu_kernel::bitCast<float>(x); }
inline long long __double_as_longlong(double x) { return fake_gpu_kernel::bitCast<long long>(x); }
inline double __longlong_as_double(long long x) { return fake_gpu_kernel::bitCast<double>(x); }
inline int __float2int_rn(float x) { return fake_gpu_kernel::convert<int>(__builtin_rintf(x), -2147483647 - 1, 2147483647); }
inline int __float2int_rz(float x) { return fake_gpu_kernel::convert<int>(__builtin_truncf(x), -2147483647 - 1, 2147483647); }
inline int __float2int_rd(float x) { return fake_gpu_kernel::convert<int>(__builtin_floorf(x), -2147483647 - 1, 2147483647); }
inline unsigned __float2uint_rn(float x) { return fake_gpu_kernel::convert<unsigned>(__builtin_rintf(x), 0u, 4294967295u); }
inline unsigned __float2uint_rz(float x) { return fake_gpu_kernel::convert<unsigned>(__builtin_truncf(x), 0u, 4294967295u); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32); }
inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return shift % 32 == 0 ? high : high << shift % 32 | low >> (32 - shift % 32);
}
inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= (x >> i & 1) << (31 - i);
  return result;
}
template <typename T>
inline T __ldg(const T* from) {
  return *from;
}
template <typename T>
inline T __ldcs(const T* from) {
  return *from;
}
template <typename T>
inline T __ldcg(const T* from) {
  return *from;
}
template <typename T>
inline void __stcs(T* to, T value) {
  *to = value;
}
