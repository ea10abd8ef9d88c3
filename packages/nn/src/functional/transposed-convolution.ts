import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { ArgumentError } from '../errors/errors.ts';
import { convTranspose } from '../ops/convolution.ts';
import { Tensor } from '../tensor/tensor.ts';
import { pad } from './padding.ts';
import { requireAtLeast, type Pair, type Single, type Sizes, type Triple } from './sizes.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { overBatch } from './unbatched.ts';

/** Options of {@link convTranspose1d}, {@link convTranspose2d} and {@link convTranspose3d}. */
export interface ConvTransposeOptions<Size extends Sizes> {
  /** Stride of the convolution that this one transposes. Default: 1. */
  stride?: Size;
  /** Zeros around the input of that convolution; removes as many elements on each side of the output. Default: 0. */
  padding?: Size;
  /**
   * Additional size at the end of the output, below the stride or dilation; selects one of several possible sizes. Default: 0.
   */
  outputPadding?: Size;
  /** Number of independent channel groups. Default: 1. */
  groups?: number;
  /** Distance between kernel elements. Default: 1. */
  dilation?: Size;
}

/** Options of {@link convTranspose1d}. */
export type ConvTranspose1dOptions = ConvTransposeOptions<Single>;
/** Options of {@link convTranspose2d}. */
export type ConvTranspose2dOptions = ConvTransposeOptions<Pair>;
/** Options of {@link convTranspose3d}. */
export type ConvTranspose3dOptions = ConvTransposeOptions<Triple>;

export const convTransposeOptions: OptionNames<ConvTransposeOptions<Sizes>> = {
  stride: true,
  padding: true,
  outputPadding: true,
  groups: true,
  dilation: true,
};

/**
 * Transposed convolution of sequences (torch.nn.functional.conv_transpose1d).
 *
 * - `input`: [N, C, L] or [C, L]
 * - `weight`: [C, M / groups, k]
 * - `bias`: [M]
 * @returns [N, M, (L − 1)·stride − 2·padding + dilation·(k − 1) + outputPadding + 1]
 */
export function convTranspose1d(
  ...given: Call<
    [input: Tensor, weight: Tensor, bias?: Tensor | undefined, options?: ConvTranspose1dOptions | undefined],
    'F.convTranspose1d'
  >
): Tensor {
  const [input, weight, bias, options] = arranged('F.convTranspose1d', given);
  return convolveTransposed('convTranspose1d', 1, input, weight, bias, options);
}

/**
 * 2-D transposed convolution (torch.nn.functional.conv_transpose2d). Sizes: see `convTranspose1d`.
 *
 * - `input`: [N, C, H, W] or [C, H, W]
 * - `weight`: [C, M / groups, kH, kW]
 * - `bias`: [M]
 */
export function convTranspose2d(
  ...given: Call<
    [input: Tensor, weight: Tensor, bias?: Tensor | undefined, options?: ConvTranspose2dOptions | undefined],
    'F.convTranspose2d'
  >
): Tensor {
  const [input, weight, bias, options] = arranged('F.convTranspose2d', given);
  return convolveTransposed('convTranspose2d', 2, input, weight, bias, options);
}

/**
 * 3-D transposed convolution (torch.nn.functional.conv_transpose3d). Sizes: see `convTranspose1d`.
 *
 * - `input`: [N, C, D, H, W] or [C, D, H, W]
 * - `weight`: [C, M / groups, kD, kH, kW]
 * - `bias`: [M]
 */
export function convTranspose3d(
  ...given: Call<
    [input: Tensor, weight: Tensor, bias?: Tensor | undefined, options?: ConvTranspose3dOptions | undefined],
    'F.convTranspose3d'
  >
): Tensor {
  const [input, weight, bias, options] = arranged('F.convTranspose3d', given);
  return convolveTransposed('convTranspose3d', 3, input, weight, bias, options);
}

function convolveTransposed(
  name: 'convTranspose1d' | 'convTranspose2d' | 'convTranspose3d',
  axes: number,
  givenInput: Tensor,
  givenWeight: Tensor,
  givenBias: Tensor | undefined,
  options: ConvTransposeOptions<Sizes>,
): Tensor {
  requireOptions(name, options, convTransposeOptions);
  const [input, weight, bias] = autocastTensors(name, givenInput, givenWeight, givenBias);
  const strides = requireAtLeast(`${name}: stride`, 1, options.stride ?? 1, axes);
  const dilations = requireAtLeast(`${name}: dilation`, 1, options.dilation ?? 1, axes);
  const padding = requireAtLeast(`${name}: padding`, 0, options.padding ?? 0, axes);
  const outputPadding = requireAtLeast(`${name}: outputPadding`, 0, options.outputPadding ?? 0, axes);
  const { groups: group = 1 } = options;
  if (outputPadding.some((count, axis) => count >= Math.max(strides[axis], dilations[axis]))) {
    throw new ArgumentError(
      `${name}: outputPadding must be below the stride or the dilation, got ${outputPadding.join('x')} for a stride of ${strides.join('x')}.`,
    );
  }
  const window = { strides, dilations, group };
  return overBatch(input, axes, (batch) => {
    const full = batch.shape.slice(2).map((size, axis) => {
      const reach = dilations[axis] * ((weight.shape[axis + 2] ?? 1) - 1) + 1;
      return (size - 1) * strides[axis] + reach;
    });
    const ends = outputPadding.map((count, axis) => count - padding[axis]);
    if (outputPadding.every((count, axis) => count < strides[axis])) {
      const spatial = full.map((size, axis) => size - padding[axis] + ends[axis]);
      const attributes = { ...window, pads: [...padding, ...padding] };
      return new Tensor(convTranspose(batch.value, weight.value, attributes, spatial, bias?.value));
    }
    // onnxruntime rejects an output padding above the stride.
    return roundedOnce([batch, weight], (images, kernels) => {
      const attributes = { ...window, pads: [...padding, ...padding].map(() => 0) };
      const whole = new Tensor(convTranspose(images.value, kernels.value, attributes, full));
      const amounts = ends.map((end, axis) => [-padding[axis], end]).toReversed();
      const cut = pad(whole, amounts.flat());
      return bias ? cut.add(bias.view(-1, ...ends.map(() => 1))) : cut;
    });
  });
}
