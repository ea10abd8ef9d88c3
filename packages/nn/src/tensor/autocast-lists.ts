/**
 * The dtype in which functions compute inside `autocast`, by name: torch's lists for the CPU (aten/src/ATen/autocast_mode.cpp).
 * All other functions compute in the dtype of their operands, and operands of several dtypes are promoted to float32.
 */
export const autocastLists = {
  /** In bfloat16. `RNN` and `LSTM` include their states; of other recurrent networks, only products are in bfloat16. */
  bfloat16: [
    ...(['linear', 'matmul', 'mm', 'bmm', 'addmm', 'baddbmm', 'einsum', 'prelu'] as const),
    ...(['conv1d', 'conv2d', 'conv3d'] as const),
    ...(['convTranspose1d', 'convTranspose2d', 'convTranspose3d'] as const),
    ...(['scaledDotProductAttention', 'MultiheadAttention', 'RNN', 'LSTM', 'recurrentProducts'] as const),
  ],
  /** In float32. */
  float32: [
    ...(['avgPool3d', 'maxPool3d', 'adaptiveAvgPool3d', 'adaptiveMaxPool3d'] as const),
    ...(['reflectionPad', 'replicationPad'] as const),
    ...(['gridSample', 'cdist', 'prod', 'trace', 'crossEntropy', 'nllLoss', 'mseLoss'] as const),
    ...(['l1Loss', 'smoothL1Loss', 'huberLoss', 'binaryCrossEntropy'] as const),
    ...(['binaryCrossEntropyWithLogits', 'klDiv', 'poissonNllLoss', 'cosineEmbeddingLoss'] as const),
    ...(['hingeEmbeddingLoss', 'marginRankingLoss', 'softMarginLoss', 'tripletMarginLoss'] as const),
    ...(['multiMarginLoss', 'ctcLoss'] as const),
  ],
} as const;

/** A function of one of the lists. */
export type AutocastFunction = (typeof autocastLists)[keyof typeof autocastLists][number];
