import { inSequence } from '../graph/collective.ts';
import { createNode, isNode, type Node, type Value } from '../graph/node.ts';
import { sizeOf } from '../value-type.ts';
import type { ElementwiseOp, ElementwiseProgram } from '../graph/attributes.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { isSameSequence } from '../graph/same-data.ts';
import { isCondition, maxConditions } from '../ops/elementwise-program.ts';
import { constant } from '../ops/source.ts';

/**
 * Replaces connected elementwise operators over arrays of one size by one node, which computes them in one pass over memory
 * and without arrays for the values between them. Results are bit-identical.
 */
export function fuseElementwise(outputs: readonly Value[]): Value[] {
  const collectives = inSequence(topologicalOrder(outputs));
  // A collective runs after the previous one, although it reads none of its results.
  const order = topologicalOrder([...collectives.map((node) => node.outputs[0]), ...outputs]);
  const before = new Map<Node, Node>(
    collectives.slice(1).map((node, position) => [node, collectives[position]]),
  );
  const groups = groupsOf(order, before);
  const isRead = readFromOutside(order, groups, outputs);
  return rebuilt(outputs, groups, isRead);
}

/** Nodes in topological order. A Reshape in a group only renames a value. */
type Group = readonly Node[];
type Groups = Map<Node, Group>;

/**
 * A group runs as one node, so a node joins the group of an input only if no external input of the union depends on the
 * union.
 */
function groupsOf(order: readonly Node[], before: ReadonlyMap<Node, Node>): Groups {
  const groups: Groups = new Map();
  const places: Places = { of: new Map(order.map((node, place) => [node, place])), crossed: [] };
  for (const node of order) {
    if (!mayJoin(node)) continue;
    let group: Group = [node];
    for (const { node: producer } of node.inputs) {
      const other = groups.get(producer);
      if (other === undefined || group.includes(producer)) continue;
      if (sizeOf(producer.outputs[0].shape) !== sizeOf(node.outputs[0].shape)) continue;
      const union = [...new Set([...other, ...group])].sort((a, b) => places.of.get(a)! - places.of.get(b)!);
      if (!dependsOnItself(union, groups, places, before)) group = union;
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

function producersOf(nodes: readonly Node[]): Node[] {
  return nodes.flatMap(({ inputs }) => inputs.map((input) => input.node));
}

const instructions = new Set<string>([
  ...(['Add', 'Sub', 'Mul', 'Div', 'Max', 'Min', 'Neg', 'Sqrt', 'Abs', 'Relu'] as const),
  ...(['Greater', 'GreaterOrEqual', 'Equal', 'IsNaN', 'Or', 'Where'] as const),
] satisfies ElementwiseOp[]);

/** True if each input has as many elements as the output, or one. */
function mayJoin(node: Node): boolean {
  if (!instructions.has(node.op) && !isNode(node, 'Reshape')) return false;
  const count = sizeOf(node.outputs[0].shape);
  if (count === 0) return false;
  // The operator compares numbers.
  if (isNode(node, 'Equal') && node.inputs.some(isCondition)) return false;
  return node.inputs.every(({ dtype, shape }) => {
    const size = sizeOf(shape);
    return dtype !== 'int64' && (size === count || size === 1);
  });
}

/** Returns a predicate: true for values that are outputs or are read by a node outside of their group. */
function readFromOutside(
  order: readonly Node[],
  groups: Groups,
  outputs: readonly Value[],
): (value: Value) => boolean {
  const read = new Set<Value>(outputs);
  for (const node of order) {
    const group = groups.get(node);
    for (const input of node.inputs) {
      if (group === undefined || groups.get(input.node) !== group) read.add(input);
    }
  }
  return (value) => read.has(value);
}

function rebuilt(outputs: readonly Value[], groups: Groups, isRead: (value: Value) => boolean): Value[] {
  const replacements = new Map<Value, Value>();
  const finished = new Set<Node>();
  // An explicit stack, because recursion would overflow the call stack for deep networks.
  const pending = outputs.map(({ node }) => node).reverse();
  for (let node = pending.at(-1); node !== undefined; node = pending.at(-1)) {
    const group = groups.get(node) ?? [node];
    const missing = producersOf(group).filter(
      (producer) => !finished.has(producer) && !group.includes(producer),
    );
    if (!finished.has(node) && missing.length > 0) {
      pending.push(...missing.reverse());
      continue;
    }
    pending.pop();
    if (finished.has(node)) continue;
    const program = programOf(group, isRead);
    if (program === undefined) for (const member of group) copy(member, replacements);
    else replaceByProgram(group, program, replacements);
    for (const member of group) finished.add(member);
  }
  return outputs.map((output) => replacements.get(output)!);
}

/** Keeps a node, or copies it if its inputs were replaced. */
function copy(node: Node, replacements: Map<Value, Value>): void {
  const inputs = node.inputs.map((input) => replacements.get(input)!);
  const made = isSameSequence(inputs, node.inputs)
    ? node
    : createNode(node.op, inputs, node.attributes, node.outputs);
  for (const [index, output] of node.outputs.entries()) replacements.set(output, made.outputs[index]);
}

interface Program {
  /** Values read from outside. Conditions first. */
  readonly inputs: readonly Value[];
  /** Computed values that are read outside the group, without their Reshape aliases. Conditions first. */
  readonly outputs: readonly Value[];
  readonly attributes: ElementwiseProgram;
}

/** The program of a group; undefined if the group has fewer than two instructions or does not fit the operator. */
function programOf(group: Group, isRead: (value: Value) => boolean): Program | undefined {
  const members = new Set(group);
  const computing = group.filter((node) => !isNode(node, 'Reshape'));
  if (computing.length < 2) return undefined;
  const sourceOf = (value: Value): Value =>
    members.has(value.node) && isNode(value.node, 'Reshape') ? sourceOf(value.node.inputs[0]) : value;
  // The mask of a Relu is x ≤ 0.
  const masks = new Map<Node, Value>();
  const zero = constant(0);
  for (const node of computing) if (isNode(node, 'Relu')) masks.set(node, node.outputs[1]);
  const read = computing
    .flatMap((node) => node.inputs.map(sourceOf))
    .filter(({ node }) => !members.has(node));
  const inputs = conditionsFirst(masks.size > 0 ? [...read, zero] : read);
  const outputs = conditionsFirst(
    group
      .flatMap((node) => node.outputs)
      .filter(isRead)
      .map(sourceOf)
      .filter(({ node }) => members.has(node)),
  );
  const fits = [inputs, outputs].every((values) => {
    const conditions = values.filter(isCondition).length;
    return conditions <= maxConditions && conditions < values.length;
  });
  if (!fits) return undefined;

  const numbers = new Map(inputs.map((value, position) => [value, position]));
  const steps: { op: ElementwiseOp; operands: readonly number[] }[] = [];
  const numberOf = (value: Value) => numbers.get(sourceOf(value))!;
  const add = (value: Value, op: ElementwiseOp, operands: readonly number[]) => {
    numbers.set(value, inputs.length + steps.length);
    steps.push({ op, operands });
  };
  for (const node of computing) {
    const operands = node.inputs.map(numberOf);
    add(node.outputs[0], node.op as ElementwiseOp, operands);
    const mask = masks.get(node);
    if (mask) add(mask, 'LessOrEqual', [...operands, numbers.get(zero)!]);
  }
  return { inputs, outputs, attributes: { instructions: steps, results: outputs.map(numberOf) } };
}

function conditionsFirst(values: readonly Value[]): Value[] {
  const distinct = [...new Set(values)];
  return [...distinct.filter(isCondition), ...distinct.filter((value) => !isCondition(value))];
}

function replaceByProgram(
  group: Group,
  { inputs, outputs, attributes }: Program,
  replacements: Map<Value, Value>,
): void {
  const replaced = inputs.map((input) => replacements.get(input) ?? input);
  const program = createNode('Elementwise', replaced, attributes, outputs);
  for (const [index, output] of outputs.entries()) replacements.set(output, program.outputs[index]);
  for (const node of group) {
    if (!isNode(node, 'Reshape')) continue;
    const source = replacements.get(node.inputs[0]);
    if (source === undefined) continue;
    replacements.set(
      node.outputs[0],
      createNode('Reshape', [source], node.attributes, node.outputs).outputs[0],
    );
  }
}
