import type { TorchNames } from './torch-names.ts';

const channels = 'The module needs its input channels: ringrun has no lazy modules.';

/** Names of torch.nn. */
export const nnNames: TorchNames = {
  DataParallel: 'Use `DistributedDataParallel` of ringrun, with a process for each part of the batch.',
  LazyConv2d: channels,
  LazyLinear: channels,
  UpsamplingBilinear2d: "new nn.Upsample({ scaleFactor, mode: 'bilinear', alignCorners: true })",
  UpsamplingNearest2d: 'new nn.Upsample({ scaleFactor })',
  ZeroPad1d: 'nn.ConstantPad1d',
  functional: "import { F } from '@ringrun/nn'",
  parallel: "import { DistributedDataParallel } from 'ringrun'",
};

/** Names of torch.nn.functional. */
export const functionalNames: TorchNames = {
  multi_head_attention_forward: 'nn.MultiheadAttention',
  upsample: 'F.interpolate',
  upsample_bilinear: "F.interpolate(x, { mode: 'bilinear', alignCorners: true })",
  upsample_nearest: 'F.interpolate',
};

/** Names of torch.optim. */
export const optimNames: TorchNames = {};
