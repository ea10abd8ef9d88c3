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
export {
  conv1d,
  conv2d,
  conv3d,
  type Conv1dOptions,
  type Conv2dOptions,
  type Conv3dOptions,
  type ConvOptions,
} from './convolution.ts';
export {
  convTranspose1d,
  convTranspose2d,
  convTranspose3d,
  type ConvTranspose1dOptions,
  type ConvTranspose2dOptions,
  type ConvTranspose3dOptions,
  type ConvTransposeOptions,
} from './transposed-convolution.ts';
export { ctcLoss, type CTCLossOptions, type Lengths } from './ctc-loss.ts';
export { dropout, type DropoutOptions } from './dropout.ts';
export { embedding, type EmbeddingOptions } from './embedding.ts';
export { embeddingBag, type BagOptions, type EmbeddingBagOptions } from './embedding-bag.ts';
export { affineGrid, gridSample, type AffineGridOptions, type GridSampleOptions } from './grid-sample.ts';
export { gumbelSoftmax, type GumbelSoftmaxOptions } from './gumbel-softmax.ts';
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
export type { Pair, Single, Sizes, Triple } from './sizes.ts';
export { interpolate, type InterpolateOptions, type InterpolationMode } from './interpolation.ts';
export { pad, type PaddingMode, type PadOptions } from './padding.ts';
export { pixelShuffle, pixelUnshuffle } from './pixel-shuffle.ts';
export {
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveAvgPool3d,
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  adaptiveMaxPool3d,
  type AdaptiveSize,
} from './adaptive-pooling.ts';
export {
  avgPool1d,
  avgPool2d,
  avgPool3d,
  maxPool1d,
  maxPool2d,
  maxPool3d,
  type AvgPool1dOptions,
  type AvgPool2dOptions,
  type AvgPool3dOptions,
  type AvgPoolOptions,
  type MaxPool1dOptions,
  type MaxPool2dOptions,
  type MaxPool3dOptions,
  type MaxPoolOptions,
} from './pooling.ts';
export { rmsNorm, type RMSNormOptions } from './rms-norm.ts';
