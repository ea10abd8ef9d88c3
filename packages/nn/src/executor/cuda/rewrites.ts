import { plainOperators } from '../../compiler/rewrites/plain-operators.ts';
import { rewrite, type Rewrite } from '../../compiler/rewrite.ts';
import { createNode, isNode, type Node, type Value } from '../../graph/node.ts';
import type { OpName } from '../../graph/operators.ts';
import { alongChannels } from '../../ops/batch-normalization.ts';
import { definitionOf, operators } from '../../ops/index.ts';
import { add, mul } from '../../ops/elementwise.ts';
import type { Executor, ProgramDefinition } from '../executor.ts';
import { isComputed } from './operators.ts';

/** The operators of a forward pass for which there are kernels, also of their gradients. */
export const prepareForward: Executor['prepareForward'] = (outputs, purpose) =>
  rewrite(
    outputs,
    purpose === 'training' ? [withKernels(purpose), withWeightGradient] : [withKernels(purpose)],
  );

/** Replaces operators without a kernel by equivalent graphs of other operators. */
function withKernels(purpose: 'evaluation' | 'training'): Rewrite {
  return (node) => {
    if (definitionOf(node).plain === undefined) return undefined;
    const gradient = `${node.op}Gradient`;
    const hasGradient = gradient in operators && purpose === 'training';
    const hasKernels = isComputed(node) && (!hasGradient || isComputed({ op: gradient as OpName }));
    return hasKernels ? undefined : plainOperators(node);
  };
}

/** Convolutions whose gradient for the weight is one operator. */
const withWeightGradient: Rewrite = (node) => {
  if (isNode(node, 'Conv')) return markedConvolution<'Conv'>(node);
  return isNode(node, 'ConvTranspose') ? markedConvolution<'ConvTranspose'>(node) : undefined;
};

function markedConvolution<Op extends 'Conv' | 'ConvTranspose'>(
  node: Node<Op>,
): readonly Value[] | undefined {
  if (node.attributes.hasWeightGradient) return undefined;
  return createNode<Op>(node.op, node.inputs, { ...node.attributes, hasWeightGradient: true }, node.outputs)
    .outputs;
}

const asElementwise: Rewrite = (node) => {
  if (!isNode(node, 'Affine')) return undefined;
  const [x, scale, shift] = node.inputs;
  return add(mul(x, alongChannels(scale, x)), alongChannels(shift, x));
};

/** A definition without operators that become part of a fused kernel as several others. */
export function forGpu(definition: ProgramDefinition): ProgramDefinition {
  return rewritten(definition, asElementwise);
}

/** The definition for the CPU, which lacks the operators of GPUs. */
export function forHost(definition: ProgramDefinition): ProgramDefinition {
  return rewritten(definition, withoutWeightGradient);
}

const withoutWeightGradient: Rewrite = (node) =>
  isNode(node, 'ConvWeightGradient') ? plainOperators(node) : undefined;

function rewritten(definition: ProgramDefinition, rule: Rewrite): ProgramDefinition {
  const { outputs, update } = definition;
  return {
    ...definition,
    outputs: rewrite(outputs, [rule]),
    update: update && { ...update, outputs: rewrite(update.outputs, [rule]) },
  };
}
