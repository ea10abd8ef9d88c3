/**
 * Factors of dropout by Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011), with
 * the bits of the CPU (native/src/operators/dropout.h): element i = 256·b + 64·w + c reads number w of counter 64·b + c.
 */
export const philox = `
struct Numbers {
  unsigned of[4];
};

__device__ __forceinline__ Numbers numbersOf(unsigned long long key, unsigned long long counter) {
  unsigned a = static_cast<unsigned>(counter), b = static_cast<unsigned>(counter >> 32), c = 0, d = 0;
  unsigned low = static_cast<unsigned>(key), high = static_cast<unsigned>(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned long long left = static_cast<unsigned long long>(a) * 0xd2511f53u;
    const unsigned long long right = static_cast<unsigned long long>(c) * 0xcd9e8d57u;
    a = static_cast<unsigned>(right >> 32) ^ b ^ low;
    b = static_cast<unsigned>(right);
    c = static_cast<unsigned>(left >> 32) ^ d ^ high;
    d = static_cast<unsigned>(left);
    low += 0x9e3779b9u;
    high += 0xbb67ae85u;
  }
  return {{a, b, c, d}};
}

// Key and limit of a mask, and the factor of elements that are kept: those whose number is at most the limit.
struct Mask {
  unsigned long long key;
  unsigned limit;
  float scale;

  __device__ __forceinline__ Mask() : key(0), limit(0), scale(1.0f) {}
  __device__ __forceinline__ Mask(const int64* numbers, const float* factor)
      : key(static_cast<unsigned long long>(numbers[0])), limit(static_cast<unsigned>(numbers[1])), scale(*factor) {}

  __device__ __forceinline__ float factorOf(unsigned number) const { return number <= limit ? scale : 0.0f; }
  __device__ __forceinline__ float operator()(unsigned long long element) const {
    const Numbers numbers = numbersOf(key, element / 256 * 64 + element % 64);
    const unsigned w = element / 64 % 4;
    return factorOf(w < 2 ? (w == 0 ? numbers.of[0] : numbers.of[1]) : (w == 2 ? numbers.of[2] : numbers.of[3]));
  }
};
`;
