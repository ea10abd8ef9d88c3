import { createNode, isNode, type Node, type Value } from '../../graph/node.ts';
import { isSameSequence } from '../../graph/same-data.ts';
import { inFloat32, sizeOf } from '../../value-type.ts';
import { batchNormalize } from '../batch-normalization.ts';
import { refuseGradient, type OperatorFamily } from '../definition.ts';
import { add, cast, relu, widened } from '../elementwise.ts';
import { expand } from '../shape.ts';
import { constant } from '../source.ts';

/**
 * relu(batchNormalize(x) + residual), in which residual and relu are optional. Statistics and result of a channel are computed
 * before those of the next one, so a channel that fits into the cache is read from memory once.
 *
 * @param x [N, C, …]
 * @param residual of x's shape
 * @param activates if true, with the relu
 */
export function batchNormalizeActivate(
  [x, weight, bias]: readonly Value[],
  epsilon: number,
  residual: Value | undefined,
  activates: boolean,
): Node<'BatchNormalizeActivate'> {
  return createNode(
    'BatchNormalizeActivate',
    [x, widened(weight), widened(bias), residual].filter((input) => input !== undefined),
    { epsilon, hasResidual: residual !== undefined, activates },
    [x, inFloat32(weight), inFloat32(weight), { dtype: 'int64', shape: flagShape(x.shape) }],
  );
}

/** Two words of 32 flags in each element (kFlagWords in native/src/operators/batch_normalization.h). */
function flagShape([outer, channels, ...inner]: readonly number[]): number[] {
  const vectors = outer * Math.ceil(sizeOf(inner) / 16);
  return [channels, Math.ceil(vectors / 32) * 8];
}

export const batchNormalizeActivations: OperatorFamily<
  'BatchNormalizeActivate' | 'BatchNormalizeActivateGradient'
> = {
  BatchNormalizeActivate: {
    plain: ({ inputs: [x, weight, bias, residual], attributes: { epsilon, activates, hasResidual } }) => {
      const { normalized, mean, variance } = batchNormalize(x, weight, bias, epsilon);
      const sum = hasResidual ? add(normalized, residual) : normalized;
      return [activates ? relu(sum) : sum, mean, variance];
    },
    emit: (graph, { attributes: { epsilon, activates } }, inputs, outputs) => {
      graph.ownNode('BatchNormalizeActivate', inputs, outputs, {
        epsilon: { float: epsilon },
        activates: Number(activates),
      });
    },
    omits: [0, 1, 2, 3],
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [x, weight], outputs, attributes }, [d, dMean, dVariance]) => {
      const [, mean, variance, flat] = outputs;
      const [dy, other] = termsOf(d ?? cast(expand(constant(0), x.shape), x.dtype));
      const optional = [attributes.activates ? flat : undefined, other, dMean, dVariance];
      const [hasFlat, hasOther, hasMean, hasVariance] = optional.map((input) => input !== undefined);
      const inputs = [dy, x, mean, variance, weight, ...optional.filter((input) => input !== undefined)];
      const types = [x, weight, weight, ...(attributes.hasResidual ? [x] : [])];
      return createNode(
        'BatchNormalizeActivateGradient',
        inputs,
        { epsilon: attributes.epsilon, hasFlat, hasOther, hasMean, hasVariance },
        types,
      ).outputs;
    },
  },
  BatchNormalizeActivateGradient: {
    emit: (graph, { attributes }, inputs, outputs) => {
      const { epsilon, hasFlat, hasOther, hasMean, hasVariance } = attributes;
      const optional = inputs.slice(5);
      const places = [hasFlat, hasOther, hasMean, hasVariance].map((has) => (has ? optional.shift()! : ''));
      graph.ownNode('BatchNormalizeActivateGradient', [...inputs.slice(0, 5), ...places], outputs, {
        epsilon: { float: epsilon },
      });
    },
    omits: [0, 1, 2, 3],
    takesBfloat16: true,
    gradient: refuseGradient,
  },
};

/** The gradient of a result with two readers is a sum, which the operator computes while it reads both. */
function termsOf(d: Value): readonly [Value, Value?] {
  if (!isNode(d.node, 'Add')) return [d];
  const [a, b] = d.node.inputs as [Value, Value];
  const isWhole = [a, b].every(({ dtype, shape }) => dtype === d.dtype && isSameSequence(shape, d.shape));
  return isWhole ? [a, b] : [d];
}
