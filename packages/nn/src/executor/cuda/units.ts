import { inSequence } from '../../graph/collective.ts';
import { isNode, type Node, type Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import { groupsOf, producersOf, type Group, type Groups } from '../node-groups.ts';
import { isElementwise } from './elementwise-operators.ts';
import { readsOfElementwise } from './elementwise.ts';
import { readsOfNode } from './operators.ts';
import { viewedValue } from './views.ts';

/** Nodes that run as one: a group of elementwise nodes and of views of their values, or one other node. */
export interface Unit {
  readonly nodes: Group;
  /** True for elementwise nodes, which one kernel computes. */
  readonly isElementwise: boolean;
  /** The nodes by connected group. Several groups are independent of each other. */
  readonly groups: readonly Group[];
}

/**
 * Divides nodes into units, in an order of computation. Collectives are in the order of `inSequence`.
 *
 * @param order the nodes, topological
 */
export function unitsOf(order: readonly Node[]): readonly Unit[] {
  const collectives = inSequence(order);
  const before = new Map<Node, Node>(collectives.slice(1).map((node, index) => [node, collectives[index]]));
  const groups = groupsOf(
    order,
    (node) => mayFuse(node),
    before,
    (group) => group.length <= mostNodes && arraysOf(group) <= mostArrays,
  );
  return inOrder(order, groups, before).map((nodes) => ({
    nodes,
    isElementwise: nodes.some(isElementwise),
    groups: [nodes],
  }));
}

/** Views of other kinds are boundaries. */
function mayFuse(node: Node): boolean {
  if (sizeOf(node.outputs[0].shape) === 0) return false;
  return isElementwise(node) || isNode(node, 'Reshape') || isNode(node, 'Identity');
}

/** A kernel with more instructions would need more registers than a thread has. */
const mostNodes = 128;

/** Read and written. Each is an argument of 8 bytes. */
const mostArrays = 64;

function arraysOf(group: Group): number {
  const members = new Set(group);
  const read = group.flatMap(({ inputs }) => inputs).filter(({ node }) => !members.has(node));
  return new Set<Value>(read).size + group.length;
}

/** Each unit after those that it reads, and each node after the one that `before` has for it. */
function inOrder(order: readonly Node[], groups: Groups, before: ReadonlyMap<Node, Node>): Group[] {
  const units: Group[] = [];
  const known = new Set(order);
  const finished = new Set<Node>();
  for (const last of order) {
    // An explicit stack, because recursion would overflow the call stack for deep networks.
    const pending = [last];
    for (let node = pending.at(-1); node !== undefined; node = pending.at(-1)) {
      const unit = groups.get(node) ?? [node];
      const members = new Set(unit);
      const earlier = before.get(node);
      const missing = [...producersOf(unit), ...(earlier ? [earlier] : [])].filter(
        (producer) => known.has(producer) && !finished.has(producer) && !members.has(producer),
      );
      if (!finished.has(node) && missing.length > 0) {
        pending.push(...missing);
        continue;
      }
      pending.pop();
      if (finished.has(node)) continue;
      units.push(unit);
      for (const member of unit) finished.add(member);
    }
  }
  return units;
}

/** Where a unit reads elements: the values that its inputs are views of. */
export function readsOfUnit({ nodes, isElementwise: isFused }: Unit): readonly Value[] {
  const read = isFused ? readsOfElementwise(nodes) : nodes.flatMap(readsOfNode);
  return read.map(viewedValue);
}
