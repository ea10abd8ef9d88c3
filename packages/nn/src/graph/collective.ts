import type { Node } from './node.ts';
import type { CollectiveOp, OpName } from './operators.ts';

export type CollectiveNode = Node & Node<CollectiveOp>;

const collectives: Partial<Record<OpName, true>> = {
  AllReduce: true,
  CombineMoments: true,
} satisfies Record<CollectiveOp, true>;

export function isCollective(node: Node): node is CollectiveNode {
  return collectives[node.op] === true;
}

let turns = 0;

/** The turn of a collective of the forward pass; that of its gradient is the negative. */
export function newTurn(): number {
  turns += 1;
  return turns;
}

/**
 * The collectives among some nodes, in the one order in which every rank runs them: those of the forward pass in the order of the forward calls, then those of the
 * backward pass in the reverse.
 *
 * It follows from the order of calls alone, not from shapes or from what rewriting made of the graph, because ranks may differ in these: one with a smaller batch
 * may have another layout. And it is one in which the graph can be computed: an operator's inputs are made before it, and a gradient depends on gradients of later
 * calls only.
 */
export function inOrderOfTurns(nodes: readonly Node[]): CollectiveNode[] {
  return nodes.filter(isCollective).sort((a, b) => compareTurns(a.attributes.turn, b.attributes.turn));
}

function compareTurns(a: number, b: number): number {
  return Math.sign(b) - Math.sign(a) || a - b;
}
