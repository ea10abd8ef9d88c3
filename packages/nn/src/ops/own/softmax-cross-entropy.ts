import { createNode, createValue, type Node, type Value } from '../../graph/node.ts';
import type { SoftmaxCrossEntropyAttributes } from '../../graph/attributes.ts';
import type { GraphBuilder } from '../../onnx-format/graph-builder.ts';
import { classLoss, type ClassLoss } from '../class-loss.ts';
import type { OperatorFamily } from '../definition.ts';
import { widened } from '../elementwise.ts';
import { logSoftmax } from '../softmax.ts';

/**
 * The loss of classes (see `classLoss`) of logSoftmax(logits). Weights and smoothing receive no gradient.
 *
 * @param logits [N, C]
 * @param target int64 [N]
 */
export function softmaxCrossEntropy(logits: Value, target: Value, options: ClassLoss): Value {
  const { weight, smoothing, ignoreIndex, reduction } = options;
  const [rows] = logits.shape;
  const float32 = (...shape: number[]) => ({ dtype: 'float32', shape }) as const;
  return createNode(
    'SoftmaxCrossEntropy',
    [logits, target, weight && widened(weight), smoothing && widened(smoothing)].filter(
      (input) => input !== undefined,
    ),
    { ignoreIndex, reduction, hasWeight: weight !== undefined, smooths: smoothing !== undefined },
    [reduction === 'none' ? float32(rows) : float32(), float32(rows, 2), float32()],
  ).outputs[0];
}

export const softmaxCrossEntropies: OperatorFamily<'SoftmaxCrossEntropy' | 'SoftmaxCrossEntropyGradient'> = {
  SoftmaxCrossEntropy: {
    plain: ({ inputs: [logits, target, ...options], attributes }) => {
      const [weight, smoothing] = withPlaces(options, attributes);
      return [classLoss(logSoftmax(logits, 1), target, { ...attributes, weight, smoothing })];
    },
    emit: (graph, { attributes }, [logits, target, ...options], outputs) => {
      emitOwn(graph, 'SoftmaxCrossEntropy', [logits, target], options, outputs, attributes);
    },
    omits: [1, 2],
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [logits, ...rest], outputs: [, ...saved], attributes }, [d]) => {
      const [target, ...options] = rest;
      const inputs = [d, logits, target, ...saved, ...options].filter((input) => input !== undefined);
      return [d && createValue('SoftmaxCrossEntropyGradient', inputs, attributes, logits)];
    },
  },
  SoftmaxCrossEntropyGradient: {
    emit: (graph, { attributes }, inputs, outputs) => {
      const [given, options] = [inputs.slice(0, 5), inputs.slice(5)];
      emitOwn(graph, 'SoftmaxCrossEntropyGradient', given, options, outputs, attributes);
    },
    takesBfloat16: true,
    adjoint: ({ inputs: [d, logits, target, rows, total, ...options], attributes }) => ({
      of: createNode('SoftmaxCrossEntropy', [logits, target, ...options], attributes, [d, rows, total]),
      gradients: [d],
      positions: [0],
    }),
    gradient: 'ofPlain',
  },
};

const reductionCodes = { none: 0, sum: 1, mean: 2 } as const;

function emitOwn(
  graph: GraphBuilder,
  op: Node['op'],
  inputs: readonly string[],
  options: readonly string[],
  outputs: readonly string[],
  attributes: SoftmaxCrossEntropyAttributes,
): void {
  const places = withPlaces(options, attributes).map((name) => name ?? '');
  graph.ownNode(op, [...inputs, ...places], outputs, {
    ignoreIndex: attributes.ignoreIndex,
    reduction: reductionCodes[attributes.reduction],
  });
}

/** The weights and the smoothing, undefined if the node lacks them. */
function withPlaces<T>(
  options: readonly T[],
  { hasWeight, smooths }: SoftmaxCrossEntropyAttributes,
): readonly [weight: T | undefined, smoothing: T | undefined] {
  return [hasWeight ? options[0] : undefined, smooths ? options.at(-1) : undefined];
}
