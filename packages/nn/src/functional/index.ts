export {
  gelu,
  glu,
  leakyRelu,
  logSoftmax,
  relu,
  sigmoid,
  silu,
  softmax,
  softmin,
  tanh,
  type GELUOptions,
} from './activation.ts';
export {
  celu,
  elu,
  hardshrink,
  hardsigmoid,
  hardswish,
  hardtanh,
  logsigmoid,
  mish,
  prelu,
  relu6,
  selu,
  softplus,
  softshrink,
  softsign,
  tanhshrink,
  threshold,
  type SoftplusOptions,
} from './piecewise-activation.ts';
export { scaledDotProductAttention, type AttentionOptions } from './attention.ts';
export { batchNorm, type BatchNormOptions } from './batch-norm.ts';
export { bilinear } from './bilinear.ts';
export { alphaDropout, dropout1d, dropout2d, dropout3d } from './channel-dropout.ts';
export { channelShuffle } from './channel-shuffle.ts';
export { conv2d, type Conv2dOptions } from './convolution.ts';
export { dropout, type DropoutOptions } from './dropout.ts';
export { embedding, type EmbeddingOptions } from './embedding.ts';
export { localResponseNorm, type LocalResponseNormOptions } from './local-response-norm.ts';
export { normalize, type NormalizeOptions } from './normalize.ts';
export { oneHot } from './one-hot.ts';
export {
  multilabelSoftMarginLoss,
  multiMarginLoss,
  type MultiLabelSoftMarginLossOptions,
  type MultiMarginLossOptions,
} from './multi-class-loss.ts';
export { flatten, linear } from './linear.ts';
export {
  binaryCrossEntropyWithLogits,
  crossEntropy,
  mseLoss,
  nllLoss,
  type BCEWithLogitsOptions,
  type CrossEntropyOptions,
  type NLLLossOptions,
} from './loss.ts';
export {
  huberLoss,
  l1Loss,
  smoothL1Loss,
  type HuberLossOptions,
  type SmoothL1LossOptions,
} from './distance-loss.ts';
export {
  cosineEmbeddingLoss,
  hingeEmbeddingLoss,
  marginRankingLoss,
  softMarginLoss,
  tripletMarginLoss,
  tripletMarginWithDistanceLoss,
  type MarginLossOptions,
  type TripletMarginLossOptions,
  type TripletMarginWithDistanceLossOptions,
} from './margin-loss.ts';
export {
  cosineSimilarity,
  pairwiseDistance,
  type CosineSimilarityOptions,
  type PairwiseDistanceOptions,
} from './similarity.ts';
export {
  binaryCrossEntropy,
  gaussianNllLoss,
  klDiv,
  poissonNllLoss,
  type BinaryCrossEntropyOptions,
  type GaussianNLLLossOptions,
  type KLDivOptions,
  type PoissonNLLLossOptions,
} from './probability-loss.ts';
export type { Reduction, ReductionOptions } from './reduction.ts';
export { groupNorm, instanceNorm } from './group-norm.ts';
export { layerNorm, type NormalizationOptions } from './normalization.ts';
export { type Pair } from './pair.ts';
export {
  adaptiveAvgPool2d,
  avgPool2d,
  maxPool2d,
  type AvgPool2dOptions,
  type MaxPool2dOptions,
} from './pooling.ts';
export { rmsNorm, type RMSNormOptions } from './rms-norm.ts';
