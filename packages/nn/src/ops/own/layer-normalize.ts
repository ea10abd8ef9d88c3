import { createNode, type Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import type { LayerNormalizeAttributes } from '../../graph/attributes.ts';
import { refuseGradient, type OperatorFamily } from '../definition.ts';
import { add, mul, widened } from '../elementwise.ts';
import { normalize } from '../normalization.ts';
import { expand } from '../shape.ts';
import { constant } from '../source.ts';

/**
 * (x − mean) / √(variance + epsilon)·weight + bias over the last axes.
 *
 * @param x float32 with at least one dimension
 * @param axes number of the last axes
 * @param weight float32, of the shape of these axes. Default: 1.
 * @param bias likewise. Default: 0.
 */
export function layerNormalize(
  x: Value,
  axes: number,
  epsilon: number,
  weight: Value | undefined,
  bias: Value | undefined,
): Value {
  const rows = sizeOf(x.shape.slice(0, -axes));
  return createNode(
    'LayerNormalize',
    [x, weight && widened(weight), bias && widened(bias)].filter((input) => input !== undefined),
    { axes, epsilon, hasWeight: weight !== undefined, hasBias: bias !== undefined },
    [x, { dtype: 'float32', shape: [rows, 2] }],
  ).outputs[0];
}

export const layerNormalization: OperatorFamily<
  'LayerNormalize' | 'AddLayerNormalize' | 'LayerNormalizeGradient'
> = {
  LayerNormalize: {
    plain: ({ inputs: [x, ...options], attributes }) => {
      const axes = Array.from({ length: attributes.axes }, (_, axis) => axis - attributes.axes);
      const [weight, bias] = withPlaces(options, attributes);
      const { normalized } = normalize(x, axes, attributes.epsilon);
      const scaled = weight ? mul(normalized, weight) : normalized;
      return [bias ? add(scaled, bias) : scaled];
    },
    emit: (graph, { attributes }, [x, ...options], outputs) => {
      const { axes, epsilon } = attributes;
      const places = withPlaces(options, attributes).map((name) => name ?? '');
      graph.ownNode('LayerNormalize', [x, ...places], outputs, { axes, epsilon: { float: epsilon } });
    },
    omits: [0, 1, 2],
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [x, ...options], outputs: [, statistics], attributes }, [d]) => {
      if (d === undefined) return [];
      const [weight] = withPlaces(options, attributes);
      const inputs = [d, x, statistics, ...(weight ? [weight] : [])];
      const shape = x.shape.slice(-attributes.axes);
      const ofWeight = { dtype: 'float32', shape } as const;
      const types = [x, ofWeight, ofWeight];
      const given = { ...attributes, adds: false };
      const [dx, dWeight, dBias] = createNode('LayerNormalizeGradient', inputs, given, types).outputs;
      return [dx, ...(attributes.hasWeight ? [dWeight] : []), ...(attributes.hasBias ? [dBias] : [])];
    },
  },
  AddLayerNormalize: {
    emit: (graph, { attributes }, [a, b, ...options], outputs) => {
      const { axes, epsilon } = attributes;
      const places = withPlaces(options, attributes).map((name) => name ?? '');
      graph.ownNode('AddLayerNormalize', [a, b, ...places], outputs, { axes, epsilon: { float: epsilon } });
    },
    omits: [0, 1, 2],
    takesBfloat16: true,
    gradient: refuseGradient,
  },
  LayerNormalizeGradient: {
    emit: (graph, { attributes: { axes, hasWeight, adds } }, [d, x, statistics, ...options], outputs) => {
      const weight = hasWeight ? options[0] : '';
      const inputs = [d, x, statistics, weight, ...(adds ? [options.at(-1)!] : [])];
      graph.ownNode('LayerNormalizeGradient', inputs, outputs, { axes });
    },
    omits: [0, 1, 2, 3],
    takesBfloat16: true,
    adjoint: ({ inputs: [d, x, statistics, ...options], outputs: [, ofWeight], attributes }) => {
      const { axes, epsilon, hasWeight, hasBias } = attributes;
      // The gradient does not depend on the bias.
      const bias = hasBias ? [expand(constant(0), ofWeight.shape)] : [];
      const inputs = [x, ...options.slice(0, Number(hasWeight)), ...bias];
      const of = createNode('LayerNormalize', inputs, { axes, epsilon, hasWeight, hasBias }, [x, statistics]);
      const positions = [0, hasWeight ? 1 : -1, hasBias ? inputs.length - 1 : -1];
      return { of, gradients: [d], positions };
    },
    gradient: 'ofPlain',
  },
};

/** The weight and the bias, undefined if the node lacks them. */
function withPlaces<T>(
  options: readonly T[],
  { hasWeight, hasBias }: LayerNormalizeAttributes,
): readonly [weight: T | undefined, bias: T | undefined] {
  return [hasWeight ? options[0] : undefined, hasBias ? options.at(-1) : undefined];
}
