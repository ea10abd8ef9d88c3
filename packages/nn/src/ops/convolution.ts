import { promotedFloat } from './promotion.ts';
import { ShapeError } from '../errors/errors.ts';
import { createValue, type Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import type { ConvAttributes } from '../graph/attributes.ts';
import type { AttributeValue } from '../onnx-format/graph-builder.ts';
import { type OperatorFamily } from './definition.ts';
import { convWeightGradient, weightGradient } from './convolution-weight-gradient.ts';
import { requireImages } from './images.ts';
import { reduceSum } from './reduction.ts';

/**
 * Cross-correlation of images of one to three axes, as torch.nn.functional.conv2d.
 *
 * @param data [N, C, H, W]
 * @param weight [M, C / group, kH, kW]
 * @param bias [M], or undefined
 * @returns [N, M, oH, oW] with oH = floor((H + pads − dilation·(kH − 1) − 1) / stride) + 1
 */
export function conv(data: Value, weight: Value, bias: Value | undefined, attributes: ConvAttributes): Value {
  const { strides, pads, dilations, group } = attributes;
  const axes = strides.length;
  const [n, channels, ...spatial] = requireImages('conv', data, axes);
  const [filters, perGroup, ...kernel] = requireImages('conv', weight, axes);
  if (channels !== perGroup * group || filters % group !== 0) {
    throw new ShapeError(
      `conv${axes}d: expected ${perGroup * group} channels for a weight ${describeType(weight)} and ${group} group(s), got ${channels} in ${describeType(data)}.`,
    );
  }
  requireChannels(`conv${axes}d`, weight);
  requireBias(`conv${axes}d`, filters, weight, bias);
  const output = spatial.map((size, axis) => {
    const room = size + pads[axis] + pads[axis + axes] - dilations[axis] * (kernel[axis] - 1) - 1;
    if (room < 0) {
      throw new ShapeError(
        `conv${axes}d: the kernel ${kernel.join('x')} of ${describeType(weight)} is larger than the padded input ${describeType(data)}.`,
      );
    }
    return Math.floor(room / strides[axis]) + 1;
  });
  const inputs = bias === undefined ? [data, weight] : [data, weight, bias];
  return createValue('Conv', inputs, attributes, {
    dtype: promotedFloat(data, weight),
    shape: [n, filters, ...output],
  });
}

/**
 * The transpose of `conv` as a linear map of its data: maps a gradient of conv's output to a gradient of its input.
 *
 * @param data [N, M, h, w]
 * @param weight [M, C / group, kH, kW], as in `conv`
 * @param spatial the [H, W] of the result; with a stride, several input sizes of `conv` have the same output size
 * @param bias [C], added to the result
 * @returns [N, C, H, W]
 */
export function convTranspose(
  data: Value,
  weight: Value,
  attributes: ConvAttributes,
  spatial: readonly number[],
  bias?: Value,
): Value {
  const { strides, pads, dilations, group } = attributes;
  const axes = strides.length;
  const [n, filters, ...small] = requireImages('convTranspose', data, axes);
  const [weightFilters, perGroup, ...kernel] = requireImages('convTranspose', weight, axes);
  if (filters !== weightFilters) {
    throw new ShapeError(
      `convTranspose${axes}d: expected ${weightFilters} channels for a weight ${describeType(weight)}, got ${filters} in ${describeType(data)}.`,
    );
  }
  requireChannels(`convTranspose${axes}d`, weight);
  requireBias(`convTranspose${axes}d`, perGroup * group, weight, bias);
  if (spatial.some((size) => size < 1)) {
    throw new ShapeError(
      `convTranspose${axes}d: expected a result of at least 1 along each axis, got ${spatial.join('x')} for ${describeType(data)}.`,
    );
  }
  const outputPadding = spatial.map((size, axis) => {
    const least = (small[axis] - 1) * strides[axis] + dilations[axis] * (kernel[axis] - 1) + 1;
    return size - (least - pads[axis] - pads[axis + axes]);
  });
  const inputs = bias === undefined ? [data, weight] : [data, weight, bias];
  const type = { dtype: promotedFloat(data, weight), shape: [n, perGroup * group, ...spatial] };
  return createValue('ConvTranspose', inputs, { ...attributes, outputPadding }, type);
}

export const convolution: OperatorFamily<'Conv' | 'ConvTranspose'> = {
  Conv: {
    emit: (graph, { attributes }, inputs, outputs) => {
      graph.node('Conv', inputs, outputs, onnxWindow(attributes));
    },
    differentiatesBfloat16: true,
    gradient: ({ inputs, attributes }, [d]) => {
      if (d === undefined) return [];
      const [data, weight, bias] = inputs as readonly [Value, Value, Value?];
      return [
        convTranspose(d, weight, attributes, data.shape.slice(2)),
        weightGradientOf(attributes)(data, d, weight.shape, attributes),
        bias && sumOfChannels(d),
      ];
    },
  },
  ConvTranspose: {
    emit: (graph, { attributes }, inputs, outputs) => {
      const output_padding = attributes.outputPadding;
      graph.node('ConvTranspose', inputs, outputs, { ...onnxWindow(attributes), output_padding });
    },
    // The transpose of the transpose is Conv, with the roles of the two images exchanged.
    differentiatesBfloat16: true,
    gradient: ({ inputs, attributes }, [d]) => {
      if (d === undefined) return [];
      const [data, weight, bias] = inputs as readonly [Value, Value, Value?];
      const { strides, pads, dilations, group, hasWeightGradient } = attributes;
      const window = { strides, pads, dilations, group };
      return [
        conv(d, weight, undefined, window),
        weightGradientOf({ hasWeightGradient })(d, data, weight.shape, window),
        bias && sumOfChannels(d),
      ];
    },
  },
};

function weightGradientOf({
  hasWeightGradient = false,
}: Pick<ConvAttributes, 'hasWeightGradient'>): typeof weightGradient {
  return hasWeightGradient ? convWeightGradient : weightGradient;
}

function onnxWindow({ strides, pads, dilations, group }: ConvAttributes): Record<string, AttributeValue> {
  return { strides, pads, dilations, group };
}

/** [N, C, …] to [C]. */
function sumOfChannels(images: Value): Value {
  return reduceSum(
    images,
    [...images.shape.keys()].filter((axis) => axis !== 1),
  );
}

function requireChannels(op: string, weight: Value): void {
  if (weight.shape[0] > 0 && weight.shape[1] > 0) return;
  throw new ShapeError(`${op}: expected a weight of at least one channel, got ${describeType(weight)}.`);
}

function requireBias(op: string, channels: number, weight: Value, bias: Value | undefined): void {
  if (bias === undefined || (bias.shape.length === 1 && bias.shape[0] === channels)) return;
  throw new ShapeError(
    `${op}: expected a bias float32[${channels}] for the weight ${describeType(weight)}, got ${describeType(bias)}.`,
  );
}
