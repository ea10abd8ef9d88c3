import { placeAttention } from '../../compiler/rewrites/attention-places.ts';
import { plainOperators } from '../../compiler/rewrites/plain-operators.ts';
import { rewrite, type Rewrite } from '../../compiler/rewrite.ts';
import { createNode, isNode, type Node, type Value } from '../../graph/node.ts';
import type { OpName } from '../../graph/operators.ts';
import type { Leaf } from '../../graph/structure.ts';
import { alongChannels } from '../../ops/batch-normalization.ts';
import { definitionOf, operators } from '../../ops/index.ts';
import { add, cast, mul, widened } from '../../ops/elementwise.ts';
import { inFloat32 as typeInFloat32 } from '../../value-type.ts';
import type { Executor, ProgramDefinition } from '../executor.ts';
import { biasAfterMaxPool } from './bias-after-max-pool.ts';
import { inChannelsLast } from './channels-last/index.ts';
import { takesBfloat16 } from './bfloat16.ts';
import { isComputed } from './operators.ts';

/** The operators of a forward pass for which there are kernels, also of their gradients, and attention in the places of layers. */
export const prepareForward: Executor['prepareForward'] = (outputs, purpose) => {
  const rules = [withKernels(purpose), biasAfterMaxPool(outputs)];
  return placeAttention(rewrite(outputs, purpose === 'training' ? [...rules, withWeightGradient] : rules));
};

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

/**
 * A definition without operators that become part of a fused kernel as several others, with inputs and outputs of float32 instead
 * of bfloat16, with bfloat16 only where there are kernels for it, and with images as cuDNN reads them (channels-last).
 */
export function forGpu(definition: ProgramDefinition): ProgramDefinition {
  const { leaves, update } = definition;
  const wide = new Map<Value, Value>();
  const widenedLeaf = (value: Value): Value => {
    if (value.dtype !== 'bfloat16') return value;
    const known = wide.get(value) ?? leafInFloat32(value);
    wide.set(value, known);
    return known;
  };
  const widenedLeaves = (all: readonly Leaf[]) =>
    all.map((leaf) => ({ ...leaf, value: widenedLeaf(leaf.value) }));
  const withInputs: Rewrite = ({ outputs: [value] }) =>
    isLeaf(value) && value.dtype === 'bfloat16' ? cast(widenedLeaf(value), 'bfloat16') : undefined;
  const narrow = rewritten(
    {
      ...definition,
      leaves: widenedLeaves(leaves),
      outputs: definition.outputs.map(widened),
      update: update && {
        ...update,
        leaves: widenedLeaves(update.leaves),
        outputs: update.outputs.map(widened),
        reads: new Map(Array.from(update.reads, ([output, value]) => [output, widenedLeaf(value)])),
      },
    },
    [withInputs, asElementwise, inFloat32],
  );
  return withOutputs(narrow, inChannelsLast);
}

function isLeaf({ node }: Value): boolean {
  return isNode(node, 'Input') || isNode(node, 'Number');
}

function leafInFloat32({ node, shape }: Value): Value {
  return createNode(node.op, [], node.attributes, [{ dtype: 'float32', shape }]).outputs[0];
}

/** An operator whose kernels do not take bfloat16 computes in float32, and its results are rounded. */
const inFloat32: Rewrite = (node) => {
  const isNarrow = [...node.inputs, ...node.outputs].some(({ dtype }) => dtype === 'bfloat16');
  if (!isNarrow || takesBfloat16(node)) return undefined;
  const types = node.outputs.map(typeInFloat32);
  const { outputs } = createNode(node.op, node.inputs.map(widened), attributesInFloat32(node), types);
  return outputs.map((output, index) => cast(output, node.outputs[index].dtype));
};

/** States of a recurrent network are rounded after each step, not only as a result. */
function attributesInFloat32(node: Node): Node['attributes'] {
  const roundsStates = isNode(node, 'Recurrence') && node.outputs[0].dtype === 'bfloat16';
  return roundsStates ? { ...node.attributes, roundsStates } : node.attributes;
}

/** The definition for the CPU, which lacks the operators of GPUs. */
export function forHost(definition: ProgramDefinition): ProgramDefinition {
  return rewritten(definition, [withoutWeightGradient]);
}

const withoutWeightGradient: Rewrite = (node) =>
  isNode(node, 'ConvWeightGradient') ? plainOperators(node) : undefined;

function rewritten(definition: ProgramDefinition, rules: readonly Rewrite[]): ProgramDefinition {
  return withOutputs(definition, (outputs) => rewrite(outputs, rules));
}

/** Changes all outputs together, because the update may read what else is computed. */
function withOutputs(
  definition: ProgramDefinition,
  change: (outputs: readonly Value[]) => readonly Value[],
): ProgramDefinition {
  const { outputs, update } = definition;
  const all = change([...outputs, ...(update?.outputs ?? [])]);
  return {
    ...definition,
    outputs: all.slice(0, outputs.length),
    update: update && { ...update, outputs: all.slice(outputs.length) },
  };
}
