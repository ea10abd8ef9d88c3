import type { Sample } from './sample.ts';

/** Differences that are to be mended: names, and dtype and values of their samples. The walk counts them, and fails for those that are mended. */
export const openDifferences: Readonly<Record<string, readonly string[]>> = {
  'op isclose': ['int64, special values'],
  'op logit': ['float32, special values'],
  'op xlogy': ['float32, kinks', 'float32, special values', 'float32, ties'],
  'op clamp': ['float32, special values'],
  'op lerp': ['float32, special values'],
  'op logsumexp': ['float32, special values'],
  'op nanmean': ['float32, special values'],
  'op prod': ['float32, special values'],
  'op norm': ['float32, special values'],
  'op cdist': ['float32, special values'],
  'op nn.functional.gelu': ['float32, special values'],
  'op nn.functional.adaptive_avg_pool1d': ['float32, special values'],
  'op nn.functional.adaptive_avg_pool2d': ['float32, special values'],
  'op nn.functional.adaptive_avg_pool3d': ['float32, special values'],
  'op nn.functional.layer_norm': ['float32, special values'],
  'op nn.functional.cosine_similarity': ['float32, special values'],
  'op nn.functional.interpolate': ['float32, special values'],
  'op nn.functional.upsample_bilinear': ['float32, special values'],
  'op nn.functional.binary_cross_entropy_with_logits': ['float32, special values'],
  'op nn.functional.margin_ranking_loss': ['float32, special values'],
  'op nn.functional.cosine_embedding_loss': ['float32, special values'],
  'module AdaptiveAvgPool1d': ['float32, special values'],
  'module AdaptiveAvgPool2d': ['float32, special values'],
  'module AdaptiveAvgPool3d': ['float32, special values'],
  'module GELU': ['float32, special values'],
  'module BCEWithLogitsLoss': ['float32, special values'],
  'module CosineEmbeddingLoss': ['float32, special values'],
  'module MarginRankingLoss': ['float32, special values'],
};

/** What a sample is called in `openDifferences`. */
export function kindOf({ dtype, values }: Sample): string {
  return `${dtype}, ${values}`;
}
