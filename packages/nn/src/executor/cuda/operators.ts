import type { Node, Value } from '../../graph/node.ts';
import type { OpName } from '../../graph/operators.ts';
import { convolutions } from './convolutions.ts';
import { copies } from './copies.ts';
import { isElementwise } from './elementwise-operators.ts';
import { kernels } from './kernels/index.ts';
import type { LowerNode, LoweringFamily, ReadsOf } from './lowering.ts';
import { products, readsOfMatMul } from './products.ts';
import { readsOfReduction, reductions } from './reductions.ts';
import { isView, unwidened } from './views.ts';

const lowerings: Partial<LoweringFamily<OpName>> = {
  ...kernels,
  ...copies,
  ...reductions,
  ...products,
  ...convolutions,
};

/** Leaves, and constants, which are in memory before a run. */
const withoutCommands = new Set<OpName>(['Input', 'Number', 'Constant']);

/** True if a GPU computes the operator. */
export function isComputed(node: Pick<Node, 'op'>): boolean {
  return (
    withoutCommands.has(node.op) || isView(node) || isElementwise(node) || lowerings[node.op] !== undefined
  );
}

/** True if a node has its own commands or is part of a fused kernel. */
export function hasCommands(node: Node): boolean {
  return !withoutCommands.has(node.op);
}

/** The commands of a node that is not elementwise. */
export function lowerNode(node: Node): LowerNode<OpName> {
  return lowerings[node.op] as LowerNode<OpName>;
}

const readsOf: { readonly [Op in OpName]?: ReadsOf<Op> } = {
  MatMul: readsOfMatMul,
  ReduceSum: readsOfReduction,
  ReduceMean: readsOfReduction,
  ReduceMax: readsOfReduction,
  BatchNormalizeSums: ({ inputs }) => inputs.map(unwidened),
};

/** The values that the commands of a node read. */
export function readsOfNode(node: Node): readonly Value[] {
  const reads = readsOf[node.op] as ReadsOf<OpName> | undefined;
  return reads ? reads(node) : node.inputs;
}
