import { attentionGradient } from './attention-gradient-source.ts';
import { attentionThreads, weightParameters } from './attention-parameters.ts';
import { attentionScores } from './attention-scores-source.ts';

/** Queries and keys of a tile, for the larger of the sizes of a query and of a value. Undefined: no tile fits into a GPU. */
export function attentionTile(size: number): number | undefined {
  return [64, 32, 16].find((tile) => tile * size <= 64 * 128);
}

/** Elements of a row in shared memory: a multiple of 16, and one that keeps rows in different banks. */
const strideOf = (size: number): number => 16 * Math.ceil(size / 16) + 1;

/** Bytes of shared memory. */
export function attentionShared(tile: number, size: number, valueSize: number) {
  const [width, valueWidth] = [strideOf(size), strideOf(valueSize)];
  return {
    forward: 4 * tile * (width + Math.max(width, valueWidth) + tile + 1),
    gradient: 4 * tile * (2 * width + 2 * valueWidth + tile + 1),
  };
}

/**
 * Attention of one head and its gradient, in tiles of queries × keys (Dao, "FlashAttention-2", 2023), in float32. The weights are not
 * kept: the gradient computes them again from the largest score and the inverse sum of each query. Tiles that causal attention
 * hides are skipped. A thread has rows ty, ty + 16, … and columns tx, tx + 16, … of each product. The gradients of queries, and those of
 * keys and values, have a kernel each, so that no sum is divided between blocks.
 */
export function attentionBody(tile: number, size: number, valueSize: number): string {
  return `${attentionScores}
constexpr int kTile = ${tile}, kOwn = ${tile / 16}, kSize = ${size}, kValueSize = ${valueSize};
constexpr int kStride = ${strideOf(size)}, kValueStride = ${strideOf(valueSize)}, kTileStride = kTile + 1;
// Columns of a thread.
constexpr int kColumns = (kSize + 15) / 16, kValueColumns = (kValueSize + 15) / 16;

// Copies rows into shared memory, with zeros behind them and behind their elements.
template <int kElements, int kRowStride, typename Element>
__device__ __forceinline__ void loadRows(const Element* from, int64 rowStride, int64 first, int64 rows, float* to) {
  constexpr int kWidth = kRowStride - 1;
  for (int i = threadIdx.x; i < kTile * kWidth; i += ${attentionThreads}) {
    const int row = i / kWidth, element = i % kWidth;
    const bool exists = first + row < rows && element < kElements;
    to[row * kRowStride + element] = exists ? static_cast<float>(from[(first + row) * rowStride + element]) : 0.0f;
  }
}

// Products of the rows of two tiles.
template <int kElements, int kRowStride>
__device__ __forceinline__ void multiplyRows(const float* left, const float* right, float (&products)[kOwn][kOwn]) {
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
#pragma unroll
    for (int j = 0; j < kOwn; ++j) products[i][j] = 0.0f;
  }
#pragma unroll 4
  for (int k = 0; k < kElements; ++k) {
    float a[kOwn], b[kOwn];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      a[i] = left[(16 * i + ty) * kRowStride + k];
      b[i] = right[(16 * i + tx) * kRowStride + k];
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int j = 0; j < kOwn; ++j) products[i][j] += a[i] * b[j];
    }
  }
}

// sums += tile · rows
template <int kSums, int kRowStride>
__device__ __forceinline__ void addProducts(const float* tile, const float* rows, float (&sums)[kOwn][kSums]) {
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
#pragma unroll 4
  for (int k = 0; k < kTile; ++k) {
    float a[kOwn];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) a[i] = tile[(16 * i + ty) * kTileStride + k];
#pragma unroll
    for (int c = 0; c < kSums; ++c) {
      const float b = rows[k * kRowStride + 16 * c + tx];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) sums[i][c] += a[i] * b;
    }
  }
}

template <int kSums>
__device__ __forceinline__ void clear(float (&sums)[kOwn][kSums]) {
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
#pragma unroll
    for (int c = 0; c < kSums; ++c) sums[i][c] = 0.0f;
  }
}

// Writes the rows of a tile.
template <int kElements, int kSums, typename Element>
__device__ __forceinline__ void storeRows(const float (&sums)[kOwn][kSums], Element* to, int64 rowStride, int64 first, int64 rows) {
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int64 row = first + 16 * i + ty;
#pragma unroll
    for (int c = 0; c < kSums; ++c) {
      if (row < rows && 16 * c + tx < kElements) to[row * rowStride + 16 * c + tx] = sums[i][c];
    }
  }
}

// Over the 16 threads that have a row.
template <typename Combine>
__device__ __forceinline__ float ofRow(float value) {
  const Combine combine;
  for (int lanes = 8; lanes > 0; lanes /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  return value;
}

extern "C" __global__ void __launch_bounds__(${attentionThreads}) attend(const T* query, const T* key, const T* value, T* result,
                                                                         float* statistics, Heads heads, ${weightParameters}, int tiles) {
  extern __shared__ float shared[];
  float* const queryRows = shared;
  float* const rows = queryRows + kTile * kStride;
  float* const tile = rows + kTile * (kStride > kValueStride ? kStride : kValueStride);
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  const int64 head = blockIdx.x / tiles;
  // Those with most keys first.
  const int64 first = static_cast<int64>(tiles - 1 - blockIdx.x % tiles) * kTile;
  const Scores scores(heads, {scale, added, allowed, dropout, factor, isCausal}, head);
  const int64 seen = scores.seenBelow(min(first + kTile, heads.queries));
  query += heads.query.first + offsetOf(heads, heads.query, head);
  key += heads.key.first + offsetOf(heads, heads.key, head);
  value += heads.value.first + offsetOf(heads, heads.value, head);
  loadRows<kSize, kStride>(query, heads.query.row, first, heads.queries, queryRows);
  float largest[kOwn], sums[kOwn], results[kOwn][kValueColumns];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    largest[i] = -kInfinity;
    sums[i] = 0.0f;
  }
  clear(results);
  for (int64 firstKey = 0; firstKey < seen; firstKey += kTile) {
    loadRows<kSize, kStride>(key, heads.key.row, firstKey, heads.keys, rows);
    __syncthreads();
    float products[kOwn][kOwn];
    multiplyRows<kSize, kStride>(queryRows, rows, products);
    __syncthreads();
    loadRows<kValueSize, kValueStride>(value, heads.value.row, firstKey, heads.keys, rows);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int64 own = first + 16 * i + ty;
      float most = largest[i];
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        const int64 other = firstKey + 16 * j + tx;
        if (!scores.sees(own, other)) continue;
        products[i][j] = scores.of(products[i][j], own, other);
        most = Largest()(most, products[i][j]);
      }
      most = ofRow<Largest>(most);
      // A query with scores of −∞ so far has the weights 0, and NaN stays NaN.
      const float base = most == -kInfinity ? 0.0f : most;
      float sum = 0.0f;
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        const int64 other = firstKey + 16 * j + tx;
        const bool isSeen = scores.sees(own, other);
        const float weight = isSeen ? expf(products[i][j] - base) : 0.0f;
        sum += weight;
        tile[(16 * i + ty) * kTileStride + 16 * j + tx] = isSeen ? weight * scores.factorOf(own, other) : 0.0f;
      }
      sum = ofRow<Sum>(sum);
      if (firstKey > 0) {
        const float rest = expf(largest[i] - base);
        sum += sums[i] * rest;
#pragma unroll
        for (int c = 0; c < kValueColumns; ++c) results[i][c] *= rest;
      }
      sums[i] = sum;
      largest[i] = most;
    }
    __syncthreads();
    addProducts<kValueColumns, kValueStride>(tile, rows, results);
    __syncthreads();
  }
  const bool hasMask = scores.hasMask();
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    // Without a mask, a sum of 0 is that of scores of −∞, whose result is NaN.
    const bool isBlocked = sums[i] == 0.0f && (hasMask || seen == 0);
    const float inverse = isBlocked ? 0.0f : 1.0f / sums[i];
    const int64 own = first + 16 * i + ty;
    if (tx == 0 && own < heads.queries) {
      statistics[2 * head * heads.queries + own] = isBlocked ? 0.0f : largest[i];
      statistics[(2 * head + 1) * heads.queries + own] = inverse;
    }
#pragma unroll
    for (int c = 0; c < kValueColumns; ++c) results[i][c] *= inverse;
  }
  storeRows<kValueSize>(results, result + heads.result.first + offsetOf(heads, heads.result, head), heads.result.row, first, heads.queries);
}

${attentionGradient}`;
}
