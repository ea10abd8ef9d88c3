import type { GpuAddress, GpuConvolution } from '@ringrun/native';
import type { ConvAttributes } from '../../graph/attributes.ts';
import type { Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import { copyElements, fillElements } from './copies.ts';
import { bytesOf, gpuDType, memoryTypes } from './element-types.ts';
import { blockSize, blocksFor, elementIndex, generated, stridesOf } from './generated.ts';
import type { Lowering, LoweringFamily } from './lowering.ts';

export const convolutions: LoweringFamily<'Conv' | 'ConvTranspose' | 'ConvWeightGradient'> = {
  Conv: ({ inputs, outputs: [y], attributes }, lowering) => {
    const [x, weight, bias] = inputs as readonly [Value, Value, Value?];
    const padded = withEqualPads(x, attributes);
    addConvolution(lowering, 'forward', y, attributes, padded.padding, {
      input: { at: placedInside(lowering, x, padded, attributes), shape: padded.shape },
      weight: { at: lowering.at(weight), shape: channelsFirst(weight, attributes) },
      output: { at: lowering.at(y), shape: channelsFirst(y, attributes) },
    });
    if (bias) addBias(lowering, y, bias);
  },
  ConvTranspose: ({ inputs, outputs: [y], attributes }, lowering) => {
    const [x, weight, bias] = inputs as readonly [Value, Value, Value?];
    const padded = withEqualPads(y, attributes);
    const at = padded.isSame ? lowering.at(y) : lowering.scratch(bytesOf(y.dtype) * sizeOf(padded.shape));
    addConvolution(lowering, 'inputGradient', y, attributes, padded.padding, {
      input: { at, shape: padded.shape },
      weight: { at: lowering.at(weight), shape: channelsFirst(weight, attributes) },
      output: { at: lowering.at(x), shape: channelsFirst(x, attributes) },
    });
    if (!padded.isSame) {
      const shape = channelsFirst(y, attributes);
      const to = { at: lowering.at(y), first: 0, strides: stridesIn(shape, attributes) };
      copyElements(lowering, { dtype: y.dtype, shape }, { at, ...placesIn(padded, attributes) }, to);
    }
    if (bias) addBias(lowering, y, bias);
  },
  ConvWeightGradient: ({ inputs: [large, small], outputs: [weight], attributes }, lowering) => {
    const padded = withEqualPads(large, attributes);
    addConvolution(lowering, 'weightGradient', weight, attributes, padded.padding, {
      input: { at: placedInside(lowering, large, padded, attributes), shape: padded.shape },
      weight: { at: lowering.at(weight), shape: channelsFirst(weight, attributes) },
      output: { at: lowering.at(small), shape: channelsFirst(small, attributes) },
    });
  },
};

/** Whether images are [N, C, …] or [N, …, C]. */
type Layout = Pick<ConvAttributes, 'channelsLast'>;

/** A shape as [N, C, …]. */
function channelsFirst({ shape }: Pick<Value, 'shape'>, { channelsLast = false }: Layout): readonly number[] {
  return channelsLast ? [shape[0], shape[shape.length - 1], ...shape.slice(1, -1)] : shape;
}

/** Distances in memory of the elements of a shape [N, C, …]. */
function stridesIn(shape: readonly number[], { channelsLast = false }: Layout): number[] {
  if (!channelsLast) return stridesOf(shape);
  const [n, channels, ...spatial] = shape;
  const strides = stridesOf([n, ...spatial, channels]);
  return [strides[0], 1, ...strides.slice(1, -1)];
}

/** Images inside of larger ones whose padding is equal on both sides of each axis, as cuDNN requires. */
interface PaddedImages {
  readonly isSame: boolean;
  /** [N, C, …] */
  readonly shape: readonly number[];
  /** Of the larger images, on both sides of each axis. */
  readonly padding: readonly number[];
  /** Place of the first element inside along each axis. */
  readonly inside: readonly number[];
}

function withEqualPads(images: Value, attributes: ConvAttributes): PaddedImages {
  const { pads, strides } = attributes;
  const shape = channelsFirst(images, attributes);
  const axes = strides.length;
  const sides = strides.map((_, axis) => [pads[axis], pads[axis + axes]] as const);
  const padding = sides.map(([before, end]) => Math.min(before, end));
  const isSame = sides.every(([before, end]) => before === end);
  const larger = [
    ...shape.slice(0, 2),
    ...sides.map(([before, end], axis) => shape[axis + 2] + Math.abs(before - end)),
  ];
  const inside = sides.map(([before], axis) => before - padding[axis]);
  return { isSame, shape: larger, padding, inside };
}

/** Where the elements inside of the larger images are. */
function placesIn({ shape, inside }: PaddedImages, layout: Layout): { first: number; strides: number[] } {
  const strides = stridesIn(shape, layout);
  return { first: inside.reduce((sum, place, axis) => sum + place * strides[axis + 2], 0), strides };
}

/** Where the larger images are, with zeros around those of a value. */
function placedInside(lowering: Lowering, x: Value, padded: PaddedImages, layout: Layout): GpuAddress {
  if (padded.isSame) return lowering.at(x);
  const at = lowering.scratch(bytesOf(x.dtype) * sizeOf(padded.shape));
  fillElements(lowering, at, { dtype: x.dtype, shape: padded.shape }, 0);
  const shape = channelsFirst(x, layout);
  const from = { at: lowering.at(x), first: 0, strides: stridesIn(shape, layout) };
  copyElements(lowering, { dtype: x.dtype, shape }, from, { at, ...placesIn(padded, layout) });
  return at;
}

type Arrays = Pick<GpuConvolution, 'input' | 'weight' | 'output'>;

function addConvolution(
  lowering: Lowering,
  pass: GpuConvolution['pass'],
  result: Value,
  { strides, dilations, group, channelsLast }: ConvAttributes,
  padding: readonly number[],
  arrays: Arrays,
): void {
  // A sequence is an image of one row.
  const isSequence = strides.length === 1;
  const withRow = (numbers: readonly number[], row: number) => (isSequence ? [row, ...numbers] : numbers);
  const asImages = ({ at, shape }: Arrays['input']) => ({
    at,
    shape: [...shape.slice(0, 2), ...withRow(shape.slice(2), 1)],
  });
  lowering.add({
    ...{ kind: 'convolution', name: 'convolution', pass, dtype: gpuDType(result), groups: group },
    tf32: lowering.settings.tf32.convolutions,
    benchmark: lowering.settings.benchmark,
    layout: channelsLast ? 'nhwc' : 'nchw',
    input: asImages(arrays.input),
    weight: asImages(arrays.weight),
    output: asImages(arrays.output),
    padding: withRow(padding, 0),
    stride: withRow(strides, 1),
    dilation: withRow(dilations, 1),
  });
}

/** Adds a number to each channel, in place. */
function addBias(lowering: Lowering, y: Value, bias: Value): void {
  const count = sizeOf(y.shape);
  const [, channels, ...spatial] = y.shape;
  const body = `${elementIndex(count)}\n  to[i] = to[i] + bias[i / ${sizeOf(spatial)}u % ${channels}u];`;
  const kernel = generated(
    'addBias',
    [`${memoryTypes[y.dtype]}* to`, `const ${memoryTypes[bias.dtype]}* bias`],
    body,
  );
  lowering.launch(kernel, blocksFor(count), [blockSize, 1, 1], [lowering.at(y), lowering.at(bias)]);
}
