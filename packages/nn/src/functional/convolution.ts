import { conv } from '../ops/convolution.ts';
import { Tensor } from '../tensor.ts';
import { requireAtLeast, type Pair } from './pair.ts';

export interface Conv2dOptions {
  /** 1 unless given. */
  stride?: Pair;
  /** Zeros on each side; 0 unless given. */
  padding?: Pair;
  /** Distance between kernel elements; 1 unless given. */
  dilation?: Pair;
  /** Blocks of channels that do not see each other; 1 unless given. */
  groups?: number;
}

/**
 * 2-D convolution (torch.nn.functional.conv2d).
 *
 * @param input [N, C, H, W]
 * @param weight [M, C / groups, kH, kW]
 * @param bias [M]
 */
export function conv2d(input: Tensor, weight: Tensor, bias?: Tensor, options: Conv2dOptions = {}): Tensor {
  const strides = requireAtLeast('conv2d: stride', 1, options.stride ?? 1);
  const [top, left] = requireAtLeast('conv2d: padding', 0, options.padding ?? 0);
  const dilations = requireAtLeast('conv2d: dilation', 1, options.dilation ?? 1);
  const attributes = {
    strides,
    pads: [top, left, top, left],
    dilations,
    group: options.groups ?? 1,
  } as const;
  return new Tensor(conv(input.value, weight.value, bias?.value, attributes));
}
