import { inOrderOfTurns, type CollectiveNode } from '../graph/collective.ts';
import type { Node, Value } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';

/** What is computed in one go: all that is asked for and needs no further collective. */
export interface Stage {
  /** Positions in the list of all that is asked for. */
  readonly gives: readonly number[];
  /** What all ranks do behind the stage, with what it computes for that besides. */
  readonly collective?: CollectiveNode;
  /** The part that is delivered behind the stage. */
  readonly delivers?: number;
}

/**
 * Divides a graph into stages: up to each of its collectives, and then part by part.
 *
 * No part is delivered before the last collective, although some could be. What is delivered may start operations in the same group, as the averaging
 * of a bucket of gradients does, and when depends on more than the graph: a bucket for which a rank's loss lacks a gradient starts at the end of the pass there,
 * and earlier on others. So on every rank, whatever its gradients and its batch, the group's operations in a pass are: the collectives of the graph, in the order of their
 * turns; then what is started by delivered parts, in the order of the parts. It costs little: a group runs its operations one after the other, so a collective of the
 * graph would wait for the bucket that was started before it, and the backward pass with it.
 */
export function stagesOf(parts: readonly (readonly Value[])[]): Stage[] {
  const order = topologicalOrder(parts.flat());
  const collectives = inOrderOfTurns(order);
  const passed = collectivesPassed(order, collectives);
  const wanted = parts.flatMap((values, part) =>
    values.map(({ node }) => ({ part, after: passed.get(node)! })),
  );
  const given = (belongs: (asked: { part: number; after: number }) => boolean) =>
    [...wanted.keys()].filter((position) => belongs(wanted[position]));
  return [
    ...collectives.map((collective, index) => ({ gives: given(({ after }) => after === index), collective })),
    ...parts.map((_, delivers) => ({
      gives: given(({ part, after }) => part === delivers && after === collectives.length),
      delivers,
    })),
  ];
}

/** How many collectives, in their order, have run when a node can be computed. */
function collectivesPassed(
  order: readonly Node[],
  collectives: readonly CollectiveNode[],
): ReadonlyMap<Node, number> {
  const own = new Map<Node, number>(collectives.map((node, index) => [node, index + 1]));
  const passed = new Map<Node, number>();
  for (const node of order) {
    passed.set(node, own.get(node) ?? Math.max(0, ...node.inputs.map((input) => passed.get(input.node)!)));
  }
  return passed;
}
