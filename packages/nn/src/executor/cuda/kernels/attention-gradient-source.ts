import { attentionThreads, weightParameters } from './attention-parameters.ts';

/** The kernels of the gradient. attention-source.ts has what they share with the result. */
export const attentionGradient = `
// Σ gradient·result of each query, by a warp.
extern "C" __global__ void __launch_bounds__(128) sumsOfQueries(const T* gradient, const T* result, float* deltas, Heads heads, int64 count) {
  const int64 row = static_cast<int64>(blockIdx.x) * 4 + threadIdx.x / 32;
  if (row >= count) return;
  const int64 first = heads.result.first + offsetOf(heads, heads.result, row / heads.queries) + row % heads.queries * heads.result.row;
  float sum = 0.0f;
  for (int i = threadIdx.x % 32; i < kValueSize; i += 32) sum += gradient[first + i] * result[first + i];
  sum = combined<32, Sum>(sum);
  if (threadIdx.x % 32 == 0) deltas[row] = sum;
}

// Numbers of one query, for its weights and their gradients.
struct QueryNumbers {
  float largest, inverse, delta;

  __device__ __forceinline__ QueryNumbers(const float* statistics, const float* deltas, int64 queries, int64 head, int64 query)
      : largest(0.0f), inverse(0.0f), delta(0.0f) {
    if (query >= queries) return;
    largest = statistics[2 * head * queries + query];
    inverse = statistics[(2 * head + 1) * queries + query];
    delta = deltas[head * queries + query];
  }
};

// From products of queries with keys and of gradients with values: \`products\` becomes the weights with dropout, and \`slopes\` the
// gradients of the products.
__device__ __forceinline__ void differentiate(const Scores& scores, const QueryNumbers& numbers, int64 query, int64 key, float& product, float& slope) {
  if (!scores.sees(query, key)) {
    product = 0.0f;
    slope = 0.0f;
    return;
  }
  const float weight = expf(scores.of(product, query, key) - numbers.largest) * numbers.inverse;
  const float factor = scores.factorOf(query, key);
  product = scores.drops ? weight * factor : weight;
  if (scores.drops) slope *= factor;
  slope = weight * (slope - numbers.delta) * scores.scale;
}

extern "C" __global__ void __launch_bounds__(${attentionThreads}) queryGradient(const T* gradient, const T* query, const T* key, const T* value,
                                                                                const float* statistics, const float* deltas, T* to, Heads heads,
                                                                                ${weightParameters}, int tiles) {
  extern __shared__ float shared[];
  float* const queryRows = shared;
  float* const keyRows = queryRows + kTile * kStride;
  float* const gradientRows = keyRows + kTile * kStride;
  float* const valueRows = gradientRows + kTile * kValueStride;
  float* const tile = valueRows + kTile * kValueStride;
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  const int64 head = blockIdx.x / tiles;
  const int64 first = static_cast<int64>(tiles - 1 - blockIdx.x % tiles) * kTile;
  const Scores scores(heads, {scale, added, allowed, dropout, factor, isCausal}, head);
  const int64 seen = scores.seenBelow(min(first + kTile, heads.queries));
  key += heads.key.first + offsetOf(heads, heads.key, head);
  value += heads.value.first + offsetOf(heads, heads.value, head);
  const int64 queryOffset = heads.query.first + offsetOf(heads, heads.query, head);
  loadRows<kSize, kStride>(query + queryOffset, heads.query.row, first, heads.queries, queryRows);
  const int64 resultOffset = heads.result.first + offsetOf(heads, heads.result, head);
  loadRows<kValueSize, kValueStride>(gradient + resultOffset, heads.result.row, first, heads.queries, gradientRows);
  float sums[kOwn][kColumns];
  clear(sums);
  for (int64 firstKey = 0; firstKey < seen; firstKey += kTile) {
    loadRows<kSize, kStride>(key, heads.key.row, firstKey, heads.keys, keyRows);
    loadRows<kValueSize, kValueStride>(value, heads.value.row, firstKey, heads.keys, valueRows);
    __syncthreads();
    float products[kOwn][kOwn], slopes[kOwn][kOwn];
    multiplyRows<kSize, kStride>(queryRows, keyRows, products);
    multiplyRows<kValueSize, kValueStride>(gradientRows, valueRows, slopes);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int64 own = first + 16 * i + ty;
      const QueryNumbers numbers(statistics, deltas, heads.queries, head, own);
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        differentiate(scores, numbers, own, firstKey + 16 * j + tx, products[i][j], slopes[i][j]);
        tile[(16 * i + ty) * kTileStride + 16 * j + tx] = slopes[i][j];
      }
    }
    __syncthreads();
    addProducts<kColumns, kStride>(tile, keyRows, sums);
    __syncthreads();
  }
  storeRows<kSize>(sums, to + queryOffset, heads.query.row, first, heads.queries);
}

extern "C" __global__ void __launch_bounds__(${attentionThreads}) keyGradient(const T* gradient, const T* query, const T* key, const T* value,
                                                                              const float* statistics, const float* deltas, T* toKey, T* toValue,
                                                                              Heads heads, ${weightParameters}, int tiles) {
  extern __shared__ float shared[];
  float* const queryRows = shared;
  float* const keyRows = queryRows + kTile * kStride;
  float* const gradientRows = keyRows + kTile * kStride;
  float* const valueRows = gradientRows + kTile * kValueStride;
  float* const tile = valueRows + kTile * kValueStride;
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  const int64 head = blockIdx.x / tiles;
  const int64 first = static_cast<int64>(blockIdx.x % tiles) * kTile;
  const Scores scores(heads, {scale, added, allowed, dropout, factor, isCausal}, head);
  query += heads.query.first + offsetOf(heads, heads.query, head);
  gradient += heads.result.first + offsetOf(heads, heads.result, head);
  const int64 keyOffset = heads.key.first + offsetOf(heads, heads.key, head);
  const int64 valueOffset = heads.value.first + offsetOf(heads, heads.value, head);
  loadRows<kSize, kStride>(key + keyOffset, heads.key.row, first, heads.keys, keyRows);
  loadRows<kValueSize, kValueStride>(value + valueOffset, heads.value.row, first, heads.keys, valueRows);
  float ofKeys[kOwn][kColumns], ofValues[kOwn][kValueColumns];
  clear(ofKeys);
  clear(ofValues);
  // Earlier queries do not attend to these keys.
  for (int64 firstQuery = scores.isCausal ? first : 0; firstQuery < heads.queries; firstQuery += kTile) {
    loadRows<kSize, kStride>(query, heads.query.row, firstQuery, heads.queries, queryRows);
    loadRows<kValueSize, kValueStride>(gradient, heads.result.row, firstQuery, heads.queries, gradientRows);
    __syncthreads();
    float products[kOwn][kOwn], slopes[kOwn][kOwn];
    multiplyRows<kSize, kStride>(keyRows, queryRows, products);
    multiplyRows<kValueSize, kValueStride>(valueRows, gradientRows, slopes);
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const int64 other = firstQuery + 16 * j + tx;
      const QueryNumbers numbers(statistics, deltas, heads.queries, head, other);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        differentiate(scores, numbers, other, first + 16 * i + ty, products[i][j], slopes[i][j]);
        tile[(16 * i + ty) * kTileStride + 16 * j + tx] = products[i][j];
      }
    }
    __syncthreads();
    addProducts<kValueColumns, kValueStride>(tile, gradientRows, ofValues);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int j = 0; j < kOwn; ++j) tile[(16 * i + ty) * kTileStride + 16 * j + tx] = slopes[i][j];
    }
    __syncthreads();
    addProducts<kColumns, kStride>(tile, queryRows, ofKeys);
    __syncthreads();
  }
  storeRows<kSize>(ofKeys, toKey + keyOffset, heads.key.row, first, heads.keys);
  storeRows<kValueSize>(ofValues, toValue + valueOffset, heads.value.row, first, heads.keys);
}
`;
