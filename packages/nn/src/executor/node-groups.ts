import type { Node } from '../graph/node.ts';
import { sizeOf } from '../value-type.ts';

/** Nodes in topological order that run as one. No input from outside depends on a member. */
export type Group = readonly Node[];

/** The groups of their members. */
export type Groups = ReadonlyMap<Node, Group>;

/**
 * Connected nodes of one number of elements, such as elementwise ones. A group runs as one node, so a node joins the group of an
 * input only if no external input of the union depends on the union.
 *
 * @param order of all nodes, topological
 * @param mayJoin true for nodes that a group may contain
 * @param before the node that must run before another one, although the other does not read it. Default: none.
 * @param fits false for a group that is too large. Default: every group fits.
 */
export function groupsOf(
  order: readonly Node[],
  mayJoin: (node: Node) => boolean,
  before: ReadonlyMap<Node, Node> = new Map(),
  fits: (group: Group) => boolean = () => true,
): Groups {
  const groups = new Map<Node, Group>();
  const places: Places = { of: new Map(order.map((node, place) => [node, place])), crossed: [] };
  for (const node of order) {
    if (!mayJoin(node)) continue;
    let group: Group = [node];
    for (const { node: producer } of node.inputs) {
      const other = groups.get(producer);
      if (other === undefined || group.includes(producer)) continue;
      if (sizeOf(producer.outputs[0].shape) !== sizeOf(node.outputs[0].shape)) continue;
      const union = [...new Set([...other, ...group])].sort((a, b) => places.of.get(a)! - places.of.get(b)!);
      if (fits(union) && !dependsOnItself(union, groups, places, before)) group = union;
    }
    for (const member of group) groups.set(member, group);
    for (let at = places.of.get(group[0])! + 1; at <= places.of.get(node)!; at += 1)
      places.crossed[at] = true;
  }
  return groups;
}

interface Places {
  /** In the topological order. */
  readonly of: ReadonlyMap<Node, number>;
  /** True at a place if a group has members before it, and others at it or after. */
  readonly crossed: boolean[];
}

/** True if an external input depends on a member, where each of the other groups counts as one node. */
function dependsOnItself(
  group: Group,
  groups: Groups,
  places: Places,
  before: ReadonlyMap<Node, Node>,
): boolean {
  const members = new Set(group);
  // Nodes before a place that no group crosses depend only on nodes before it, even through their groups.
  let first = places.of.get(group[0])!;
  while (places.crossed[first]) first -= 1;
  const visited = new Set<Node>();
  const pending = producersOf(group).filter((node) => !members.has(node));
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (visited.has(node)) continue;
    const unit = groups.get(node) ?? [node];
    for (const member of unit) visited.add(member);
    if (places.of.get(unit.at(-1)!)! < first) continue;
    const earlier = before.get(node);
    for (const producer of earlier === undefined ? producersOf(unit) : [...producersOf(unit), earlier]) {
      if (members.has(producer)) return true;
      pending.push(producer);
    }
  }
  return false;
}

export function producersOf(nodes: readonly Node[]): Node[] {
  return nodes.flatMap(({ inputs }) => inputs.map((input) => input.node));
}
