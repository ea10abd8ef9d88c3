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
export { BatchNorm1d, BatchNorm2d, type BatchNorm, type BatchNormModuleOptions } from './batch-norm.ts';
export { Bilinear } from './bilinear.ts';
export { AlphaDropout, Dropout1d, Dropout2d, Dropout3d } from './channel-dropout.ts';
export { ChannelShuffle } from './channel-shuffle.ts';
export { Conv2d, type Conv2dModuleOptions } from './conv2d.ts';
export { HuberLoss, L1Loss, SmoothL1Loss } from './distance-loss.ts';
export { Dropout } from './dropout.ts';
export { Embedding } from './embedding.ts';
export { GroupNorm, InstanceNorm1d, InstanceNorm2d, type ChannelNormOptions } from './group-norm.ts';
export { Flatten, Unflatten } from './flatten.ts';
export { Identity } from './identity.ts';
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
export { ParameterDict } from './parameter-dict.ts';
export { ParameterList } from './parameter-list.ts';
export { AdaptiveAvgPool2d, AvgPool2d, MaxPool2d } from './pooling.ts';
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
export { Transformer, type TransformerInputs, type TransformerOptions } from './transformer-model.ts';
export { TransformerDecoder, TransformerEncoder, type TransformerStackOptions } from './transformer.ts';
export * as utils from './utils/index.ts';
