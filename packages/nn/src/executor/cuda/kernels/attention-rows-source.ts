import { weightParameters } from './attention-parameters.ts';
import type { RowForm } from './attention-choice.ts';
import { attentionScores } from './attention-scores-source.ts';

/** Threads of a block, which has one or several rows. */
export const rowThreads = ({ threads }: RowForm): number => Math.max(threads, 128);

/**
 * What attention by products (attention-products.ts) computes between them, a row of scores at a time: the weights from
 * products of queries with keys, and the gradients of those products. \`T\` is the type of the factors of the next products. Rows
 * have \`stride\` elements, of which those after the keys are written as 0. A thread reads all of its elements before it
 * writes one, so weights and slopes may take the places of the float32 numbers that they are computed from.
 */
export function attentionRowsBody(form: RowForm): string {
  const parameters = `Heads heads, ${weightParameters}, int64 firstHead, int rows, int stride`;
  // Without a least number of blocks, NVRTC 12 spills a register of small blocks. Large ones need two on a multiprocessor.
  const bounds =
    rowThreads(form) === 128 ? '__launch_bounds__(128, 1)' : `__launch_bounds__(${rowThreads(form)})`;
  return `${attentionScores}
constexpr int kThreads = ${form.threads}, kGroups = ${form.groups}, kRows = ${rowThreads(form) / form.threads};

// Four numbers at a multiple of four elements.
__device__ __forceinline__ void store(float* to, const float (&x)[4]) {
  *reinterpret_cast<float4*>(to) = make_float4(x[0], x[1], x[2], x[3]);
}
__device__ __forceinline__ unsigned pairOf(float lower, float upper) {
  return static_cast<unsigned>(bfloat16(lower).bits) | static_cast<unsigned>(bfloat16(upper).bits) << 16;
}
__device__ __forceinline__ void store(bfloat16* to, const float (&x)[4]) {
  *reinterpret_cast<uint2*>(to) = make_uint2(pairOf(x[0], x[1]), pairOf(x[2], x[3]));
}

// The row of a thread. Its groups of four elements are kThreads groups apart, so that neighbours read neighbouring ones.
struct Row {
  int64 head, first;
  int thread, query;

  __device__ __forceinline__ Row(const Heads& heads, int64 firstHead, int row, int stride)
      : head(firstHead + row / static_cast<int>(heads.queries)), first(static_cast<int64>(row) * stride), thread(threadIdx.x % kThreads),
        query(row % static_cast<int>(heads.queries)) {}

  __device__ __forceinline__ int keyOf(int group) const { return 4 * (group * kThreads + thread); }
  // Elements of groups with keys below \`seen\`, and 0.
  __device__ __forceinline__ void load(const float* from, int seen, float (&x)[kGroups][4]) const {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      float4 found = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (keyOf(g) < seen) found = *reinterpret_cast<const float4*>(from + first + keyOf(g));
      x[g][0] = found.x;
      x[g][1] = found.y;
      x[g][2] = found.z;
      x[g][3] = found.w;
    }
  }
};

// Bit e: whether dropout keeps key first + e. Not unrolled: the random numbers of several keys at once do not fit into registers.
__device__ __forceinline__ unsigned keptOf(const Scores& scores, int first) {
  if (!scores.drops) return 15u;
  unsigned kept = 0;
#pragma unroll 1
  for (int e = 0; e < 4; ++e) kept |= (scores.factorOf(0, first + e) != 0.0f ? 1u : 0u) << e;
  return kept;
}

__device__ __forceinline__ int rowOfThread() { return static_cast<int>(blockIdx.x) * kRows + static_cast<int>(threadIdx.x) / kThreads; }

extern "C" __global__ void ${bounds} weightsOfScores(const float* products, T* weights, float* statistics, ${parameters}) {
  if (rowOfThread() >= rows) return;
  const Row row(heads, firstHead, rowOfThread(), stride);
  Scores scores(heads, {scale, added, allowed, dropout, factor, isCausal}, row.head);
  const int seen = static_cast<int>(scores.seenBelow(row.query + 1));
  scores.startAt(row.query);
  float x[kGroups][4];
  row.load(products, seen, x);
  float largest = -kInfinity;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int key = row.keyOf(g) + e;
      if (key >= seen) continue;
      x[g][e] = scores.of(x[g][e], 0, key);
      largest = Largest()(largest, x[g][e]);
    }
  }
  largest = combined<kThreads, Largest>(largest);
  // A query with scores of −∞ has the weights 0, and NaN stays NaN.
  const float base = largest == -kInfinity ? 0.0f : largest;
  float sum = 0.0f;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      x[g][e] = row.keyOf(g) + e < seen ? expf(x[g][e] - base) : 0.0f;
      sum += x[g][e];
    }
  }
  sum = combined<kThreads, Sum>(sum);
  // Without a mask, a sum of 0 is that of scores of −∞, whose result is NaN.
  const bool isBlocked = sum == 0.0f && (scores.hasMask() || seen == 0);
  const float inverse = isBlocked ? 0.0f : 1.0f / sum;
  if (row.thread == 0) {
    statistics[2 * row.head * heads.queries + row.query] = isBlocked ? 0.0f : largest;
    statistics[(2 * row.head + 1) * heads.queries + row.query] = inverse;
  }
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const unsigned isKept = keptOf(scores, row.keyOf(g));
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float ofDropout = (isKept >> e & 1u) ? scores.mask.scale : 0.0f;
      x[g][e] = row.keyOf(g) + e < seen ? x[g][e] * inverse * ofDropout : 0.0f;
    }
    if (row.keyOf(g) < stride) store(weights + row.first + row.keyOf(g), x[g]);
  }
}

// \`received\`: products of the gradient with values. The weights have the factors of dropout, as the values received them.
extern "C" __global__ void ${bounds} slopesOfScores(const float* products, const float* received, T* weights, T* slopes,
                                                    const float* statistics, ${parameters}) {
  if (rowOfThread() >= rows) return;
  const Row row(heads, firstHead, rowOfThread(), stride);
  Scores scores(heads, {scale, added, allowed, dropout, factor, isCausal}, row.head);
  const int seen = static_cast<int>(scores.seenBelow(row.query + 1));
  scores.startAt(row.query);
  const float largest = statistics[2 * row.head * heads.queries + row.query];
  const float inverse = statistics[(2 * row.head + 1) * heads.queries + row.query];
  float x[kGroups][4], d[kGroups][4];
  row.load(products, seen, x);
  row.load(received, seen, d);
  float delta = 0.0f;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    const unsigned isKept = keptOf(scores, row.keyOf(g));
    float kept[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int key = row.keyOf(g) + e;
      const bool isSeen = key < seen;
      x[g][e] = isSeen ? expf(scores.of(x[g][e], 0, key) - largest) * inverse : 0.0f;
      const float ofDropout = isSeen && (isKept >> e & 1u) ? scores.mask.scale : 0.0f;
      kept[e] = x[g][e] * ofDropout;
      d[g][e] *= ofDropout;
      if (isSeen) delta += x[g][e] * d[g][e];
    }
    if (row.keyOf(g) < stride) store(weights + row.first + row.keyOf(g), kept);
  }
  // Σ weight·gradient, which is Σ gradient·result over the elements of the query.
  delta = combined<kThreads, Sum>(delta);
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      x[g][e] = row.keyOf(g) + e < seen ? x[g][e] * (d[g][e] - delta) * scores.scale : 0.0f;
    }
    if (row.keyOf(g) < stride) store(slopes + row.first + row.keyOf(g), x[g]);
  }
}
`;
}
