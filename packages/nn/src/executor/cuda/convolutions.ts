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
    const padded = withEqualPads(x.shape, attributes);
    addConvolution(lowering, 'forward', y, attributes, padded.padding, {
      input: { at: placedInside(lowering, x, padded), shape: padded.shape },
      weight: { at: lowering.at(weight), shape: weight.shape },
      output: { at: lowering.at(y), shape: y.shape },
    });
    if (bias) addBias(lowering, y, bias);
  },
  ConvTranspose: ({ inputs, outputs: [y], attributes }, lowering) => {
    const [x, weight, bias] = inputs as readonly [Value, Value, Value?];
    const padded = withEqualPads(y.shape, attributes);
    const at = padded.isSame ? lowering.at(y) : lowering.scratch(bytesOf(y.dtype) * sizeOf(padded.shape));
    addConvolution(lowering, 'inputGradient', y, attributes, padded.padding, {
      input: { at, shape: padded.shape },
      weight: { at: lowering.at(weight), shape: weight.shape },
      output: { at: lowering.at(x), shape: x.shape },
    });
    if (!padded.isSame) {
      const to = { at: lowering.at(y), first: 0, strides: stridesOf(y.shape) };
      copyElements(lowering, y, { at, first: padded.first, strides: stridesOf(padded.shape) }, to);
    }
    if (bias) addBias(lowering, y, bias);
  },
  ConvWeightGradient: ({ inputs: [large, small], outputs: [weight], attributes }, lowering) => {
    const padded = withEqualPads(large.shape, attributes);
    addConvolution(lowering, 'weightGradient', weight, attributes, padded.padding, {
      input: { at: placedInside(lowering, large, padded), shape: padded.shape },
      weight: { at: lowering.at(weight), shape: weight.shape },
      output: { at: lowering.at(small), shape: small.shape },
    });
  },
};

/** Images inside of larger ones whose padding is equal on both sides of each axis, as cuDNN requires. */
interface PaddedImages {
  readonly isSame: boolean;
  readonly shape: readonly number[];
  /** Of the larger images, on both sides of each axis. */
  readonly padding: readonly number[];
  /** Position of the first element inside. */
  readonly first: number;
}

function withEqualPads(shape: readonly number[], { pads, strides }: ConvAttributes): PaddedImages {
  const axes = strides.length;
  const sides = strides.map((_, axis) => [pads[axis], pads[axis + axes]] as const);
  const padding = sides.map(([before, end]) => Math.min(before, end));
  const isSame = sides.every(([before, end]) => before === end);
  const larger = [
    ...shape.slice(0, 2),
    ...sides.map(([before, end], axis) => shape[axis + 2] + Math.abs(before - end)),
  ];
  const places = stridesOf(larger);
  const first = sides.reduce((sum, [before], axis) => sum + (before - padding[axis]) * places[axis + 2], 0);
  return { isSame, shape: larger, padding, first };
}

/** Where the larger images are, with zeros around those of a value. */
function placedInside(lowering: Lowering, x: Value, { isSame, shape, first }: PaddedImages): GpuAddress {
  if (isSame) return lowering.at(x);
  const at = lowering.scratch(bytesOf(x.dtype) * sizeOf(shape));
  fillElements(lowering, at, { dtype: x.dtype, shape }, 0);
  const from = { at: lowering.at(x), first: 0, strides: stridesOf(x.shape) };
  copyElements(lowering, x, from, { at, first, strides: stridesOf(shape) });
  return at;
}

type Arrays = Pick<GpuConvolution, 'input' | 'weight' | 'output'>;

function addConvolution(
  lowering: Lowering,
  pass: GpuConvolution['pass'],
  result: Value,
  { strides, dilations, group }: ConvAttributes,
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
