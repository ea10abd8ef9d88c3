import { recordCustomGradient, type CustomGradient } from '../graph/custom-gradient.ts';
import type { GradientTarget } from '../graph/gradient-target.ts';
import { createNode, createValue, isNode, type Node, type Value } from '../graph/node.ts';
import type { GraphBuilder } from '../onnx-format/graph-builder.ts';
import type { OperatorFamily } from './definition.ts';
import { detach } from './elementwise.ts';

/** A value of which gradients are taken. @param receiver gets the gradient of each backward pass. Default: none. */
export function variable(value: Value, receiver?: GradientTarget): Value {
  recordCustomGradient();
  return createValue('Variable', [value], receiver ? { receiver } : {}, value);
}

/**
 * Values whose gradients a rule turns into those of other values.
 *
 * @param results of the function
 * @param inputs of the function, whose gradients `rule` returns in this order
 */
export function customFunction(
  results: readonly Value[],
  inputs: readonly Value[],
  rule: CustomGradient,
): readonly Value[] {
  recordCustomGradient();
  return createNode('CustomFunction', [...results.map(detach), ...inputs], { rule }, results).outputs;
}

/** The leaves that a loss has gradients of, and these gradients. */
export type GivenGradient = readonly [leaf: Value, gradient: Value];

/** A loss with given gradients, which no operator computes. */
export function givenGradients(loss: Value, gradients: readonly GivenGradient[]): Value {
  return createValue('GivenGradients', [loss, ...gradients.flat()], {}, loss);
}

/** The leaves that a loss has given gradients of; undefined for another value. */
export function leavesOfGiven({ node }: Value): readonly Value[] | undefined {
  if (!isNode(node, 'GivenGradients')) return undefined;
  return node.inputs.slice(1).filter((_, position) => position % 2 === 0);
}

export const customGradients: OperatorFamily<'Variable' | 'CustomFunction' | 'GivenGradients'> = {
  Variable: {
    emit: emitIdentity,
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: (_, [d]) => [d],
  },
  CustomFunction: {
    emit: emitIdentity,
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ attributes: { rule }, outputs }, gradients) => [
      ...outputs.map(() => undefined),
      ...(rule as CustomGradient)(gradients),
    ],
  },
  GivenGradients: {
    emit: emitIdentity,
    gradient: ({ inputs }) =>
      inputs.map((_, position) => (position % 2 === 1 ? inputs[position + 1] : undefined)),
  },
};

function emitIdentity(
  graph: GraphBuilder,
  _: Node,
  inputs: readonly string[],
  outputs: readonly string[],
): void {
  for (const [index, output] of outputs.entries()) graph.node('Identity', [inputs[index]], [output]);
}
