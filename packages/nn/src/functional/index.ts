export {
  gelu,
  leakyRelu,
  logSoftmax,
  relu,
  sigmoid,
  silu,
  softmax,
  tanh,
  type GELUOptions,
} from './activation.ts';
export { batchNorm, type BatchNormOptions } from './batch-norm.ts';
export { conv2d, type Conv2dOptions } from './convolution.ts';
export { dropout, type DropoutOptions } from './dropout.ts';
export { embedding, type EmbeddingOptions } from './embedding.ts';
export { flatten, linear } from './linear.ts';
export {
  binaryCrossEntropyWithLogits,
  crossEntropy,
  mseLoss,
  nllLoss,
  type BCEWithLogitsOptions,
  type CrossEntropyOptions,
  type NLLLossOptions,
  type Reduction,
  type ReductionOptions,
} from './loss.ts';
export { layerNorm, type NormalizationOptions } from './normalization.ts';
export { type Pair } from './pair.ts';
export {
  adaptiveAvgPool2d,
  avgPool2d,
  maxPool2d,
  type AvgPool2dOptions,
  type MaxPool2dOptions,
} from './pooling.ts';
