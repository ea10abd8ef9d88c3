// What one core computes when nothing but arithmetic limits it: `loops`, which prints a line when it is ready, reads a name
// from each line of stdin and prints a line of JSON, the GFLOP/s of that loop or why it is skipped.
//
//   fma       float32 multiply-adds in registers: AVX-512, AVX2 and FMA, or NEON, the widest that the processor has
//   vdpbf16   bfloat16 pairs in registers (AVX512_BF16)
//   tdpbf16   bfloat16 tiles, four products for four tiles that are loaded from the first-level cache (AMX)
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace {

// As many sums as hide the latency of two units, which leaves registers for the operands.
constexpr int kSums = 14;
constexpr int kTurns = 4096;

volatile float sink = 0;
volatile float one = 1e-9f;

#if defined(__x86_64__)

__attribute__((target("avx512f"))) double fma512() {
  const __m512 a = _mm512_set1_ps(one), b = _mm512_set1_ps(one);
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = a;
  for (int turn = 0; turn < kTurns; turn += 1) {
#pragma GCC unroll 14
    for (int i = 0; i < kSums; i += 1) sums[i] = _mm512_fmadd_ps(a, b, sums[i]);
  }
  for (const __m512& sum : sums) sink = sink + _mm512_reduce_add_ps(sum);
  return 2.0 * 16 * kSums * kTurns;
}

__attribute__((target("avx2,fma"))) double fma256() {
  const __m256 a = _mm256_set1_ps(one), b = _mm256_set1_ps(one);
  __m256 sums[kSums];
  for (__m256& sum : sums) sum = a;
  for (int turn = 0; turn < kTurns; turn += 1) {
#pragma GCC unroll 14
    for (int i = 0; i < kSums; i += 1) sums[i] = _mm256_fmadd_ps(a, b, sums[i]);
  }
  for (const __m256& sum : sums) sink = sink + sum[0];
  return 2.0 * 8 * kSums * kTurns;
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) double vdpbf16() {
  const __m512 floats = _mm512_set1_ps(one);
  const __m512bh a = _mm512_cvtne2ps_pbh(floats, floats), b = a;
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = floats;
  for (int turn = 0; turn < kTurns; turn += 1) {
#pragma GCC unroll 14
    for (int i = 0; i < kSums; i += 1) sums[i] = _mm512_dpbf16_ps(sums[i], a, b);
  }
  for (const __m512& sum : sums) sink = sink + _mm512_reduce_add_ps(sum);
  return 4.0 * 16 * kSums * kTurns;
}

struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t startRow = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytesOfRow[16] = {};
  std::uint8_t rows[16] = {};
};

__attribute__((target("amx-tile,amx-bf16"))) double tdpbf16() {
  alignas(64) static std::uint8_t left[2][1024], right[2][1024];
  alignas(64) static float result[4][256];
  TileConfiguration configuration;
  for (int tile = 0; tile < 8; tile += 1) {
    configuration.bytesOfRow[tile] = 64;
    configuration.rows[tile] = 16;
  }
  _tile_loadconfig(&configuration);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int turn = 0; turn < kTurns; turn += 1) {
    _tile_loadd(4, left[0], 64);
    _tile_loadd(6, right[0], 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, right[1], 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, left[1], 64);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, result[0], 64);
  _tile_stored(1, result[1], 64);
  _tile_stored(2, result[2], 64);
  _tile_stored(3, result[3], 64);
  _tile_release();
  sink = sink + result[0][0] + result[1][0] + result[2][0] + result[3][0];
  return 4.0 * 2 * 16 * 16 * 32 * kTurns;
}

struct Registers {
  unsigned a, b, c, d;
};

Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  __asm__("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(subleaf));
  return r;
}

bool hasAvx512Bf16() { return __builtin_cpu_supports("avx512f") && (cpuid(7, 1).a >> 5 & 1) != 0; }

// AMX needs the kernel's permission for the state of the tiles (XFEATURE_XTILEDATA) once in a process.
bool hasAmx() {
  constexpr int kArchReqXcompPerm = 0x1023, kTileData = 18;
  const unsigned d = cpuid(7, 0).d;
  if ((d >> 22 & 1) == 0 || (d >> 24 & 1) == 0) return false;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0;
}

#elif defined(__aarch64__)

double fmaNeon() {
  const float32x4_t a = vdupq_n_f32(one), b = vdupq_n_f32(one);
  float32x4_t sums[kSums];
  for (float32x4_t& sum : sums) sum = a;
  for (int turn = 0; turn < kTurns; turn += 1) {
#pragma GCC unroll 14
    for (int i = 0; i < kSums; i += 1) sums[i] = vfmaq_f32(sums[i], a, b);
  }
  for (const float32x4_t& sum : sums) sink = sink + vaddvq_f32(sum);
  return 2.0 * 4 * kSums * kTurns;
}

#endif

struct Loop {
  const char* instructions;
  double (*run)();  // Returns its operations. Null if the processor lacks the instructions.
};

Loop loopOf(const std::string& name) {
#if defined(__x86_64__)
  if (name == "vdpbf16") return {"AVX512_BF16", hasAvx512Bf16() ? vdpbf16 : nullptr};
  if (name == "tdpbf16") return {"AMX_BF16", hasAmx() ? tdpbf16 : nullptr};
  if (__builtin_cpu_supports("avx512f")) return {"AVX-512", fma512};
  return {"AVX2 and FMA", __builtin_cpu_supports("fma") ? fma256 : nullptr};
#elif defined(__aarch64__)
  if (name == "fma") return {"NEON", fmaNeon};
  return {name == "vdpbf16" ? "AVX512_BF16" : "AMX_BF16", nullptr};
#else
  return {"vector instructions that this benchmark knows", nullptr};
#endif
}

double processorSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

double gigaflopsOf(double (*run)()) {
  run();
  double operations = 0, seconds = 0;
  const double start = processorSeconds();
  while (seconds < 0.15) {
    for (int i = 0; i < 64; i += 1) operations += run();
    seconds = processorSeconds() - start;
  }
  return operations / seconds / 1e9;
}

}  // namespace

int main() {
  std::string name;
  std::printf("{}\n");
  std::fflush(stdout);
  while (std::getline(std::cin, name)) {
    const Loop loop = loopOf(name);
    if (loop.run == nullptr) {
      std::printf("{\"skipped\": \"the processor lacks %s\"}\n", loop.instructions);
    } else {
      std::printf("{\"gigaflops\": %.2f, \"instructions\": \"%s\"}\n", gigaflopsOf(loop.run), loop.instructions);
    }
    std::fflush(stdout);
  }
}
