import { inSequence, type CollectiveNode } from '../graph/collective.ts';
import type { Node, Value } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';

/** A part of a program between two collectives: everything requested that depends on no later collective. */
export interface Stage {
  /** Positions in the list of all requested values. */
  readonly outputs: readonly number[];
  /** Runs after the stage, which also computes its inputs. */
  readonly collective?: CollectiveNode;
  /** The part that is delivered after the stage. */
  readonly deliveredPart?: number;
}

/**
 * Divides a graph into stages: one up to each collective, then one per part.
 *
 * No part is delivered before the last collective. A delivered part may start operations of the same group, such as the
 * all-reduce of a bucket, at a moment that differs between ranks (a bucket without some gradient starts at the end of the
 * pass), and every rank must issue the operations of a group in one order.
 */
export function stagesOf(parts: readonly (readonly Value[])[]): Stage[] {
  const order = topologicalOrder(parts.flat());
  const collectives = inSequence(order);
  const passed = collectivesPassed(order, collectives);
  const requested = parts.flatMap((values, part) =>
    values.map(({ node }) => ({ part, after: passed.get(node)! })),
  );
  const positionsOf = (belongs: (value: { part: number; after: number }) => boolean) =>
    [...requested.keys()].filter((position) => belongs(requested[position]));
  return [
    ...collectives.map((collective, index) => ({
      outputs: positionsOf(({ after }) => after === index),
      collective,
    })),
    ...parts.map((_, deliveredPart) => ({
      outputs: positionsOf(({ part, after }) => part === deliveredPart && after === collectives.length),
      deliveredPart,
    })),
  ];
}

/** Number of collectives that must have run before a node can be computed. */
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
