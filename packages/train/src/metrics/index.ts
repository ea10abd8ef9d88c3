export { MeanMetric, SumMetric, type AggregationOptions } from './aggregation.ts';
export { Accuracy } from './classification/accuracy.ts';
export { AUROC, type AUROCOptions, type AUROCValue } from './classification/auroc.ts';
export {
  ConfusionMatrix,
  type ConfusionMatrixOptions,
  type MetricValues,
} from './classification/confusion-matrix.ts';
export { F1Score, FBetaScore, type FBetaOptions } from './classification/f-beta.ts';
export { JaccardIndex, type JaccardIndexOptions } from './classification/jaccard-index.ts';
export { Precision, Recall, type PrecisionRecallOptions } from './classification/precision-recall.ts';
export {
  StatScoresMetric,
  type Averaged,
  type Counts,
  type StatScoresOptions,
} from './classification/stat-scores.ts';
export type {
  Average,
  BinaryTask,
  ClassificationOptions,
  ClassificationTask,
  MulticlassTask,
  MultilabelTask,
} from './classification/task.ts';
export type { MetricInput, NumericArray, ShapedInput, Values } from './input.ts';
export { Metric, type ComputeOptions, type MetricOptions, type StateSizes } from './metric.ts';
export {
  MetricCollection,
  type CollectionValues,
  type MetricCollectionOptions,
  type PredictionMetric,
} from './metric-collection.ts';
export { Perplexity, type PerplexityOptions } from './perplexity.ts';
export {
  MeanAbsoluteError,
  MeanSquaredError,
  type MeanSquaredErrorOptions,
} from './regression/mean-error.ts';
export type { OfOutputs, OutputsOptions } from './regression/outputs.ts';
export { R2Score, type R2ScoreOptions, type R2Value } from './regression/r2-score.ts';
export { DiceScore, type DiceScoreOptions } from './segmentation/dice-score.ts';
export type { MetricState } from './state.ts';
