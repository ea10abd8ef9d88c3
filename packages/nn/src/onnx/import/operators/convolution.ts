import { conv, convTranspose } from '../../../ops/convolution.ts';
import { Tensor } from '../../../tensor/tensor.ts';
import type { OperatorCall } from '../call.ts';
import {
  floating,
  input,
  int,
  ints,
  oneOf,
  operator,
  optional,
  type ContentsOf,
  type OperatorVersions,
} from '../specification.ts';
import { reachOf, shared, windowOf, type AutoPad, type Window } from './window.ts';
import { isSameSequence } from '../../../graph/same-data.ts';

const attributes = {
  auto_pad: oneOf<AutoPad>('NOTSET', 'SAME_UPPER', 'SAME_LOWER', 'VALID'),
  dilations: ints,
  group: int(1),
  kernel_shape: ints,
  pads: ints,
  strides: ints,
};
const transposeAttributes = { ...attributes, output_padding: ints, output_shape: ints };

const parts = { types: { T: floating }, inputs: [input('X'), input('W'), optional('B')] };

/** Convolutions of [N, C, …] with one to three axes. */
export const convolutionOperators = {
  Conv: operator({
    ...parts,
    attributes,
    compute: (call) => {
      const [x, weight, bias] = [call.tensor(0), call.tensor(1), call.optional(2)];
      const kernel = kernelOf(call, weight);
      const { strides, pads, dilations } = windowOf(call.attributes, x.shape.slice(2), kernel);
      const { group } = call.attributes;
      return new Tensor(conv(x.value, weight.value, bias?.value, { strides, pads, dilations, group }));
    },
  }),
  ConvTranspose: operator({
    ...parts,
    attributes: transposeAttributes,
    compute: (call) => {
      const [x, weight, bias] = [call.tensor(0), call.tensor(1), call.optional(2)];
      const kernel = kernelOf(call, weight);
      const given = { ...call.attributes, auto_pad: 'NOTSET' as const };
      const window = windowOf(given, x.shape.slice(2), kernel);
      const { spatial, pads } = transposed(call.attributes, x.shape.slice(2), window);
      const { strides, dilations } = window;
      const options = { strides, pads, dilations, group: call.attributes.group };
      return new Tensor(convTranspose(x.value, weight.value, options, spatial, bias?.value));
    },
  }),
} as const satisfies Readonly<Record<string, OperatorVersions>>;

/** The kernel's size, taken from the weight. */
function kernelOf(
  call: OperatorCall<{ readonly kernel_shape: readonly number[] | undefined }>,
  weight: Tensor,
): readonly number[] {
  const kernel = weight.shape.slice(2);
  const given = call.attributes.kernel_shape;
  if (given === undefined || isSameSequence(given, kernel)) return kernel;
  throw call.mismatch(`expected a weight with the kernel_shape ${given.join('x')}, got ${kernel.join('x')}`);
}

/** The output size of a transposed convolution, and the pads that are cut off. */
function transposed(
  { auto_pad, output_padding, output_shape }: ContentsOf<typeof transposeAttributes>,
  small: readonly number[],
  window: Window,
): { spatial: number[]; pads: readonly number[] } {
  const { strides, kernelShape, pads } = window;
  const reach = reachOf(window);
  const full = small.map(
    (size, axis) => (size - 1) * strides[axis] + reach[axis] + (output_padding?.[axis] ?? 0),
  );
  const isSame = auto_pad === 'SAME_UPPER' || auto_pad === 'SAME_LOWER';
  const wanted =
    output_shape?.slice(-kernelShape.length) ??
    (isSame ? small.map((size, axis) => size * strides[axis]) : undefined);
  if (wanted === undefined) {
    const own = auto_pad === 'VALID' ? pads.map(() => 0) : pads;
    return {
      spatial: full.map((size, axis) => size - own[axis] - own[axis + kernelShape.length]),
      pads: own,
    };
  }
  const totals = full.map((size, axis) => Math.max(0, size - wanted[axis]));
  return { spatial: [...wanted], pads: shared(totals, auto_pad === 'SAME_UPPER') };
}
