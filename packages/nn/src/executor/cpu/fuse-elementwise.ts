import { inSequence } from '../../graph/collective.ts';
import { createNode, isNode, type Node, type Value } from '../../graph/node.ts';
import { isFloat } from '../../dtype.ts';
import { sizeOf } from '../../value-type.ts';
import type { ElementwiseOp, ElementwiseProgram } from '../../graph/attributes.ts';
import { isSameSequence } from '../../graph/same-data.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { fitsProgram, inArgumentOrder, isCondition } from '../../ops/elementwise-program.ts';
import { constant } from '../../ops/source.ts';
import { viewed } from '../../ops/shape.ts';
import { groupsOf, type Group, type Groups } from '../node-groups.ts';
import { replaceGroups, type Replacements } from './replace-groups.ts';

/**
 * Replaces connected elementwise operators over arrays of one size by one node, which computes them in one pass over memory
 * and without arrays for the values between them. Values of bfloat16 become rounded values of float32, so conversions cost no
 * pass. Results are bit-identical.
 */
export function fuseElementwise(outputs: readonly Value[]): Value[] {
  const { order, groups } = grouped(outputs);
  const isRead = readFromOutside(order, groups, outputs);
  return replaceGroups(outputs, groups, (group, replacements) => {
    const program = programOf(group, isRead);
    if (program) replaceByProgram(group, program, replacements);
    return program !== undefined;
  });
}

/** The groups that `fuseElementwise` would replace if they fit the operator. */
export function elementwiseGroups(outputs: readonly Value[]): Groups {
  return grouped(outputs).groups;
}

function grouped(outputs: readonly Value[]): { order: readonly Node[]; groups: Groups } {
  const collectives = inSequence(topologicalOrder(outputs));
  // A collective runs after the previous one, although it reads none of its results.
  const order = topologicalOrder([...collectives.map((node) => node.outputs[0]), ...outputs]);
  const before = new Map<Node, Node>(
    collectives.slice(1).map((node, position) => [node, collectives[position]]),
  );
  return { order, groups: groupsOf(order, mayJoin, before) };
}

const instructions = new Set<string>([
  ...(['Add', 'Sub', 'Mul', 'Div', 'Max', 'Min', 'Neg', 'Sqrt', 'Abs', 'Relu'] as const),
  ...(['Greater', 'GreaterOrEqual', 'Equal', 'IsNaN', 'Or', 'Where', 'Gelu', 'GeluGradient'] as const),
] satisfies ElementwiseOp[]);

/** True if each input has as many elements as the output, or those of its last axes. */
function mayJoin(node: Node): boolean {
  if (!instructions.has(node.op) && !isNode(node, 'Reshape') && !isConversion(node)) return false;
  const count = sizeOf(node.outputs[0].shape);
  if (count === 0) return false;
  // The operator compares numbers.
  if (isNode(node, 'Equal') && node.inputs.some(isCondition)) return false;
  return node.inputs.every(({ dtype, shape }) => {
    const size = sizeOf(shape);
    const isPart = size === 1 || (size >= leastPeriod && isOfLastAxes(shape, node.outputs[0].shape));
    return dtype !== 'int64' && (size === count || isPart);
  });
}

/** Elements that are repeated are copied in parts. */
const leastPeriod = 16;

/** True if broadcasting repeats the elements of a shape as they are: a bias [N] in [L, N]. */
function isOfLastAxes(shape: readonly number[], whole: readonly number[]): boolean {
  const own = shape.slice(shape.findIndex((size) => size !== 1));
  return isSameSequence(own, whole.slice(whole.length - own.length));
}

/** The instruction that computes the first output of a node. */
function instructionOf(node: Node): ElementwiseOp {
  const isTanh =
    (isNode(node, 'Gelu') || isNode(node, 'GeluGradient')) && node.attributes.approximate === 'tanh';
  return (isTanh ? `Tanh${node.op}` : node.op) as ElementwiseOp;
}

/** True for a Cast between float32 and bfloat16. */
function isConversion(node: Node): boolean {
  return isNode(node, 'Cast') && isFloat(node.inputs[0]) && isFloat(node.outputs[0]);
}

/** Operators whose results bfloat16 holds if it holds their operands. */
const exact = new Set<string>(['Max', 'Min', 'Neg', 'Abs', 'Relu', 'Where']);

function rounds({ op, inputs, outputs: [output] }: Node): boolean {
  if (output.dtype !== 'bfloat16') return false;
  return !exact.has(op) || inputs.some(({ dtype }) => dtype === 'float32');
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

interface Program {
  /** Values read from outside, in the order of the operator's arguments. */
  readonly inputs: readonly Value[];
  /** Likewise the computed values that are read outside the group, without their Reshape aliases. */
  readonly outputs: readonly Value[];
  readonly attributes: ElementwiseProgram;
}

/**
 * The program of a group; undefined if the group does not fit the operator, or is one node that has no array of bfloat16 and
 * reads no product, of which the program may become part.
 */
function programOf(group: Group, isRead: (value: Value) => boolean): Program | undefined {
  const members = new Set(group);
  const computing = group.filter((node) => !isNode(node, 'Reshape'));
  const isNarrow = (node: Node) =>
    [...node.inputs, ...node.outputs].some(({ dtype }) => dtype === 'bfloat16');
  const sourceOf = (value: Value): Value =>
    members.has(value.node) && isNode(value.node, 'Reshape') ? sourceOf(value.node.inputs[0]) : value;
  const readsProduct = computing.some(({ inputs }) =>
    inputs.some((input) => isNode(viewed(input).node, 'MatrixProduct')),
  );
  const hasOperator = ({ op }: Node) => op === 'Gelu' || op === 'GeluGradient';
  const isWorthIt = computing.some((node) => isNarrow(node) && !hasOperator(node)) || readsProduct;
  if (computing.length < 2 && !isWorthIt) return undefined;
  // The mask of a Relu is x ≤ 0.
  const masks = new Map<Node, Value>();
  const zero = constant(0);
  for (const node of computing) if (isNode(node, 'Relu')) masks.set(node, node.outputs[1]);
  const read = computing
    .flatMap((node) => node.inputs.map(sourceOf))
    .filter(({ node }) => !members.has(node));
  const inputs = inArgumentOrder(masks.size > 0 ? [...read, zero] : read);
  const outputs = inArgumentOrder(
    group
      .flatMap((node) => node.outputs)
      .filter(isRead)
      .map(sourceOf)
      .filter(({ node }) => members.has(node)),
  );
  if (![inputs, outputs].every(fitsProgram)) return undefined;

  const numbers = new Map(inputs.map((value, position) => [value, position]));
  const steps: { op: ElementwiseOp; operands: readonly number[] }[] = [];
  const numberOf = (value: Value) => numbers.get(sourceOf(value))!;
  const add = (value: Value, op: ElementwiseOp, operands: readonly number[]) => {
    numbers.set(value, inputs.length + steps.length);
    steps.push({ op, operands });
  };
  const inside = new Set(computing.flatMap((node) => node.inputs.map(sourceOf)));
  for (const node of computing) {
    const operands = node.inputs.map(numberOf);
    const [output] = node.outputs;
    if (isNode(node, 'Cast')) {
      const isComputed = operands[0] >= inputs.length;
      // A wider type holds the same number, and the operator rounds what it writes.
      const isSame = output.dtype !== 'bfloat16' || !inside.has(output);
      if (isComputed && isSame) numbers.set(output, operands[0]);
      else add(output, 'Round', operands);
      continue;
    }
    add(output, instructionOf(node), operands);
    if (rounds(node) && inside.has(output)) add(output, 'Round', [numberOf(output)]);
    const mask = masks.get(node);
    if (mask) add(mask, 'LessOrEqual', [...operands, numbers.get(zero)!]);
  }
  return { inputs, outputs, attributes: { instructions: steps, results: outputs.map(numberOf) } };
}

function replaceByProgram(
  group: Group,
  { inputs, outputs, attributes }: Program,
  replacements: Replacements,
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
