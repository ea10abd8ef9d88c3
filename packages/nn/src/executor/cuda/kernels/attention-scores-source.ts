import { philox } from './philox.ts';

/** Batch axes of operands. */
export const attentionBatchAxes = 6;

/** The places of operands, and the scores of queries and keys: scaled products with masks and the factors of dropout. */
export const attentionScores = `${philox}
// Where the rows of an operand are.
struct Layout {
  int64 first, row, batch[${attentionBatchAxes}];
};

struct Heads {
  int64 queries, keys, batchAxes, batch[${attentionBatchAxes}];
  // Rows are queries, and \`first\` is the stride of keys.
  Layout mask;
  Layout query, key, value, result;
};

// What decides about the weights. At most one of \`added\` and \`allowed\` is not null; \`dropout\` is null without dropout.
struct Weights {
  const float* scale;
  const float* added;
  const unsigned char* allowed;
  const int64* dropout;
  const float* factor;
  int isCausal;
};

__device__ __forceinline__ int64 offsetOf(const Heads& heads, const Layout& layout, int64 head) {
  int64 offset = 0;
  for (int axis = static_cast<int>(heads.batchAxes) - 1; axis >= 0; --axis) {
    offset += head % heads.batch[axis] * layout.batch[axis];
    head /= heads.batch[axis];
  }
  return offset;
}

// The scores of one head.
struct Scores {
  float scale;
  const float* added;
  const unsigned char* allowed;
  int64 queryStride, keyStride, queries, keys;
  unsigned long long firstWeight;
  bool isCausal, drops;
  Mask mask;

  __device__ __forceinline__ Scores(const Heads& heads, const Weights& weights, int64 head)
      : scale(*weights.scale), queryStride(heads.mask.row), keyStride(heads.mask.first), queries(heads.queries), keys(heads.keys),
        firstWeight(static_cast<unsigned long long>(head * heads.queries * heads.keys)), isCausal(weights.isCausal != 0),
        drops(weights.dropout != nullptr), mask(weights.dropout == nullptr ? Mask() : Mask(weights.dropout, weights.factor)) {
    const int64 offset = offsetOf(heads, heads.mask, head);
    added = weights.added == nullptr ? nullptr : weights.added + offset;
    allowed = weights.allowed == nullptr ? nullptr : weights.allowed + offset;
  }

  // Makes a query the first one, so that a kernel of one query keeps no strides of queries in registers.
  __device__ __forceinline__ void startAt(int64 query) {
    if (added != nullptr) added += query * queryStride;
    if (allowed != nullptr) allowed += query * queryStride;
    firstWeight += static_cast<unsigned long long>(query * keys);
  }

  __device__ __forceinline__ bool hasMask() const { return added != nullptr || allowed != nullptr; }
  __device__ __forceinline__ bool sees(int64 query, int64 key) const { return query < queries && key < keys && (!isCausal || key <= query); }
  __device__ __forceinline__ float of(float product, int64 query, int64 key) const {
    const int64 at = query * queryStride + key * keyStride;
    if (added != nullptr) return product * scale + added[at];
    return allowed != nullptr && !allowed[at] ? -kInfinity : product * scale;
  }
  __device__ __forceinline__ float factorOf(int64 query, int64 key) const {
    return drops ? mask(firstWeight + static_cast<unsigned long long>(query * keys + key)) : 1.0f;
  }
  // Keys that queries below this one attend to.
  __device__ __forceinline__ int64 seenBelow(int64 query) const { return isCausal && query < keys ? query : keys; }
};
`;
