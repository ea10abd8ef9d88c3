import type { Node } from './node.ts';
import type { CollectiveOp, OpName } from './operators.ts';

export type CollectiveNode = Node & Node<CollectiveOp>;

const collectives: Partial<Record<OpName, true>> = {
  AllReduce: true,
  AllGather: true,
  CombineStatistics: true,
} satisfies Record<CollectiveOp, true>;

export function isCollective(node: Node): node is CollectiveNode {
  return collectives[node.op] === true;
}

let lastSequence = 0;

/** A sequence number for a collective of the forward pass. Its gradient has that of `gradientSequence`. */
export function nextSequence(): number {
  lastSequence += 1;
  return lastSequence;
}

/** True while a call builds gradients that are part of a graph. */
let isInCallOrder = false;

/** Runs a function that builds gradients which a loss may depend on: their collectives are some of the forward pass. */
export function buildingGradients<T>(build: () => T): T {
  const outer = isInCallOrder;
  isInCallOrder = true;
  try {
    return build();
  } finally {
    isInCallOrder = outer;
  }
}

/** The sequence number of the gradient of a collective. */
export function gradientSequence(sequence: number): number {
  return isInCallOrder ? nextSequence() : -sequence;
}

/**
 * The collectives among some nodes, in the order in which every rank runs them: those of the forward pass in call order,
 * then those of the backward pass in reverse call order. Shapes and rewrites do not affect it, because they may differ
 * between ranks. It is a valid order of computation: a gradient depends only on gradients of later calls.
 */
export function inSequence(nodes: readonly Node[]): CollectiveNode[] {
  return nodes
    .filter(isCollective)
    .sort((a, b) => compareSequences(a.attributes.sequence, b.attributes.sequence));
}

function compareSequences(a: number, b: number): number {
  return Math.sign(b) - Math.sign(a) || a - b;
}
