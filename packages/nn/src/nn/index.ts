export {
  GELU,
  LeakyReLU,
  LogSoftmax,
  ReLU,
  Sigmoid,
  SiLU,
  Softmax,
  Softmax2d,
  Softmin,
  Tanh,
} from './activation.ts';
export {
  AdaptiveAvgPool1d,
  AdaptiveAvgPool2d,
  AdaptiveAvgPool3d,
  AdaptiveMaxPool1d,
  AdaptiveMaxPool2d,
  AdaptiveMaxPool3d,
} from './adaptive-pooling.ts';
export {
  BatchNorm1d,
  BatchNorm2d,
  BatchNorm3d,
  type BatchNorm,
  type BatchNormModuleOptions,
} from './batch-norm.ts';
export { autocast, type AutocastOptions } from '../tensor/autocast.ts';
export { Bilinear } from './bilinear.ts';
export { AlphaDropout, Dropout1d, Dropout2d, Dropout3d } from './channel-dropout.ts';
export { ChannelShuffle } from './channel-shuffle.ts';
export {
  Conv1d,
  Conv2d,
  Conv3d,
  type Conv,
  type Conv1dModuleOptions,
  type Conv2dModuleOptions,
  type Conv3dModuleOptions,
  type ConvModuleOptions,
  type ConvPaddingMode,
} from './conv.ts';
export {
  ConvTranspose1d,
  ConvTranspose2d,
  ConvTranspose3d,
  type ConvTranspose,
  type ConvTransposeModuleOptions,
} from './conv-transpose.ts';
export { CTCLoss } from './ctc-loss.ts';
export { HuberLoss, L1Loss, SmoothL1Loss } from './distance-loss.ts';
export { Dropout } from './dropout.ts';
export { Embedding } from './embedding.ts';
export { EmbeddingBag } from './embedding-bag.ts';
export {
  GroupNorm,
  InstanceNorm1d,
  InstanceNorm2d,
  InstanceNorm3d,
  type ChannelNormOptions,
} from './group-norm.ts';
export { Flatten, Unflatten } from './flatten.ts';
export type { BackwardHook, BackwardPreHook, ModuleGradients } from './backward-hooks.ts';
export type { ForwardHook, ForwardPreHook } from './forward-hooks.ts';
export type { RemovableHandle } from '../graph/removable-handle.ts';
export { Identity } from './identity.ts';
export type { InplaceOptions } from './inplace-activation.ts';
export { LayerNorm, type LayerNormOptions } from './layer-norm.ts';
export { Linear, type LinearOptions } from './linear.ts';
export { LocalResponseNorm } from './local-response-norm.ts';
export { BCEWithLogitsLoss, CrossEntropyLoss, MSELoss, NLLLoss } from './loss.ts';
export {
  CosineEmbeddingLoss,
  HingeEmbeddingLoss,
  MarginRankingLoss,
  SoftMarginLoss,
  TripletMarginLoss,
  TripletMarginWithDistanceLoss,
} from './margin-loss.ts';
export { Module } from './module.ts';
export { ModuleDict } from './module-dict.ts';
export { ModuleList } from './module-list.ts';
export {
  generateSquareSubsequentMask,
  MultiheadAttention,
  type Attended,
  type MultiheadAttentionInputs,
  type MultiheadAttentionOptions,
} from './multihead-attention.ts';
export {
  CELU,
  ELU,
  GLU,
  Hardshrink,
  Hardsigmoid,
  Hardswish,
  Hardtanh,
  LogSigmoid,
  Mish,
  PReLU,
  ReLU6,
  SELU,
  Softplus,
  Softshrink,
  Softsign,
  Tanhshrink,
  Threshold,
} from './piecewise-activation.ts';
export { MultiLabelSoftMarginLoss, MultiMarginLoss } from './multi-class-loss.ts';
export { Parameter } from '../tensor/parameter.ts';
export { ParameterDict } from './parameter-dict.ts';
export { ParameterList } from './parameter-list.ts';
export {
  CircularPad1d,
  CircularPad2d,
  CircularPad3d,
  ConstantPad1d,
  ConstantPad2d,
  ConstantPad3d,
  type Padding,
  ReflectionPad1d,
  ReflectionPad2d,
  ReflectionPad3d,
  ReplicationPad1d,
  ReplicationPad2d,
  ReplicationPad3d,
  ZeroPad1d,
  ZeroPad2d,
  ZeroPad3d,
} from './padding.ts';
export { PixelShuffle, PixelUnshuffle } from './pixel-shuffle.ts';
export { AvgPool1d, AvgPool2d, AvgPool3d, MaxPool1d, MaxPool2d, MaxPool3d } from './pooling.ts';
export { BCELoss, GaussianNLLLoss, KLDivLoss, PoissonNLLLoss } from './probability-loss.ts';
export { RecurrentNetwork, type RecurrentOptions } from './recurrent-network.ts';
export { RMSNorm, type RMSNormModuleOptions } from './rms-norm.ts';
export { GRU, LSTM, RNN, type RNNOptions } from './rnn.ts';
export {
  GRUCell,
  LSTMCell,
  RecurrentStep,
  RNNCell,
  type RecurrentCellOptions,
  type RNNCellOptions,
} from './rnn-cell.ts';
export { CosineSimilarity, PairwiseDistance } from './similarity.ts';
export { Sequential, type Layer } from './sequential.ts';
export type { KeyMapping } from './key-mapping.ts';
export type { IncompatibleKeys, LoadStateDictOptions, ModuleStateDict, StoredTensors } from './state-dict.ts';
export { SyncBatchNorm, type Synchronized, type SyncBatchNormOptions } from './sync-batch-norm.ts';
export {
  TransformerDecoderLayer,
  TransformerEncoderLayer,
  type DecoderInputs,
  type EncoderInputs,
  type TransformerLayerOptions,
} from './transformer-layers.ts';
export { Transformer, type TransformerInputs, type TransformerOptions } from './transformer.ts';
export {
  TransformerDecoder,
  TransformerEncoder,
  type TransformerStackOptions,
} from './transformer-stacks.ts';
export { Upsample } from './upsample.ts';
export * as utils from './utils/index.ts';
export * as init from '../init/index.ts';
