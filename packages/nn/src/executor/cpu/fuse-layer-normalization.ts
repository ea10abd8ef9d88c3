import { createNode, isNode, type Node, type Value } from '../../graph/node.ts';
import { isFloat } from '../../dtype.ts';
import { sizeOf } from '../../value-type.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { isSameSequence } from '../../graph/same-data.ts';
import { elementwiseGroups } from './fuse-elementwise.ts';
import { Readers } from '../../compiler/readers.ts';
import type { Group } from '../node-groups.ts';
import { replaceGroups, type Replacements } from './replace-groups.ts';

/**
 * Makes additions and conversions beside a layer normalization part of it, so that they cost no pass over memory: the addition of
 * a residual before it, the addition of the residual's gradient after its gradient, and conversions of their results to
 * bfloat16. Results are bit-identical.
 */
export function fuseLayerNormalization(outputs: readonly Value[]): Value[] {
  const order = topologicalOrder(outputs);
  if (!order.some((node) => isNode(node, 'LayerNormalize') || isNode(node, 'LayerNormalizeGradient'))) {
    return [...outputs];
  }
  const graph = new Surroundings(order, outputs);
  const groups = new Map<Node, Group>();
  const parts = new Map<Node, Parts>();
  for (const node of order) {
    const found = isNode(node, 'LayerNormalize')
      ? forwardOf(node, graph, groups)
      : isNode(node, 'LayerNormalizeGradient')
        ? backwardOf(node, graph, groups)
        : undefined;
    if (found === undefined) continue;
    const { sum, narrowings } = found;
    // A residual is added before the normalization, and its gradient after the gradient.
    const before = sum && graph.isBefore(sum, node);
    const group = [...(sum && before ? [sum] : []), node, ...(sum && !before ? [sum] : []), ...narrowings];
    for (const member of group) groups.set(member, group);
    parts.set(node, found);
  }
  return replaceGroups(outputs, groups, (group, replacements) => {
    for (const node of group) {
      const found = parts.get(node);
      if (found && isNode(node, 'LayerNormalize')) replaceForward(node, found, replacements);
      if (found && isNode(node, 'LayerNormalizeGradient')) replaceBackward(node, found, replacements);
    }
    return true;
  });
}

/** The readers of values, and the elementwise programs that additions would be part of. */
class Surroundings extends Readers {
  readonly #elementwise: ReadonlyMap<Node, Group>;

  constructor(order: readonly Node[], outputs: readonly Value[]) {
    super(order, outputs);
    this.#elementwise = elementwiseGroups(outputs);
  }

  /** True for an addition that no elementwise program would contain together with other operators. */
  isLoneSum(node: Node): boolean {
    const group = this.#elementwise.get(node) ?? [node];
    return isNode(node, 'Add') && group.every((one) => one === node || renames(one));
  }
}

/** True for nodes that do not compute. */
function renames(node: Node): boolean {
  return isNode(node, 'Reshape') || isNode(node, 'Cast');
}

/** The nodes that become part of a normalization or of its gradient. */
interface Parts {
  /** Adds a residual to x, or another gradient to the gradient of x. */
  readonly sum: Node | undefined;
  /** Convert the result to bfloat16. */
  readonly narrowings: readonly Node[];
}

function forwardOf(
  node: Node<'LayerNormalize'>,
  graph: Surroundings,
  groups: ReadonlyMap<Node, Group>,
): Parts | undefined {
  const [x, ...options] = node.inputs;
  const isLeaf = ({ node: { inputs } }: Value) => inputs.length === 0;
  const isSum = graph.isLoneSum(x.node) && !groups.has(x.node) && options.every(isLeaf);
  const sum = isSum && operandsOf(x.node, node.attributes.axes) ? x.node : undefined;
  const narrowings = graph.of(node.outputs[0]).filter(isNarrowing);
  return sum || narrowings.length > 0 ? { sum, narrowings } : undefined;
}

/** The operand of the sum's shape, and the other, whose last axes must be those of the sum. Undefined if they do not fit. */
function operandsOf({ inputs, outputs: [sum] }: Node, axes: number): readonly [Value, Value] | undefined {
  const [a, b] = isSameSequence(inputs[0].shape, sum.shape) ? inputs : [inputs[1], inputs[0]];
  if (sizeOf(sum.shape) === 0 || b.shape.length < axes) return undefined;
  const isWhole =
    isSameSequence(a.shape, sum.shape) && isSameSequence(b.shape, sum.shape.slice(-b.shape.length));
  return isWhole && isFloat(a) && isFloat(b) ? [a, b] : undefined;
}

function isNarrowing(node: Node): boolean {
  return isNode(node, 'Cast') && node.outputs[0].dtype === 'bfloat16' && node.inputs[0].dtype === 'float32';
}

/** The value that was converted to float32. */
function withoutWidening(value: Value): Value {
  const { node } = value;
  const isWidening = isNode(node, 'Cast') && value.dtype === 'float32' && node.inputs[0].dtype === 'bfloat16';
  return isWidening ? node.inputs[0] : value;
}

function replaceForward(
  node: Node<'LayerNormalize'>,
  { sum, narrowings }: Parts,
  replacements: Replacements,
): void {
  const now = (value: Value) => replacements.get(value)!;
  const [, ...options] = node.inputs;
  const [y, statistics] = node.outputs;
  const [narrow = { ...y, dtype: 'bfloat16' as const }] = narrowings.map(({ outputs }) => outputs[0]);
  let made: Node;
  if (sum) {
    const inputs = operandsOf(sum, node.attributes.axes)!.map((operand) => now(fitting(operand, sum)));
    const types = [y, statistics, narrow, sum.outputs[0]];
    made = createNode('AddLayerNormalize', [...inputs, ...options.map(now)], node.attributes, types);
    replacements.set(sum.outputs[0], made.outputs[3]);
  } else {
    made = createNode('LayerNormalize', node.inputs.map(now), node.attributes, [y, statistics, narrow]);
  }
  replacements.set(y, made.outputs[0]).set(statistics, made.outputs[1]);
  for (const { outputs } of narrowings) replacements.set(outputs[0], made.outputs[2]);
}

/** An operand as it was before its conversion, unless the sum would then have the type of both operands. */
function fitting(operand: Value, sum: Node): Value {
  const given = sum.inputs.map(withoutWidening);
  const areNarrow = given.every(({ dtype }) => dtype === 'bfloat16');
  return areNarrow && sum.outputs[0].dtype === 'float32' ? operand : withoutWidening(operand);
}

function backwardOf(
  node: Node<'LayerNormalizeGradient'>,
  graph: Surroundings,
  groups: ReadonlyMap<Node, Group>,
): Parts | undefined {
  if (node.attributes.adds) return undefined;
  const [dx, ...ofParameters] = node.outputs;
  const reader = graph.only(dx);
  const sum = reader && graph.isLoneSum(reader) && !groups.has(reader) ? reader : undefined;
  const isSum =
    sum?.inputs.every(({ dtype, shape }) => dtype === dx.dtype && isSameSequence(shape, dx.shape)) &&
    // The other gradient must not depend on this node.
    ofParameters.every((value) => graph.of(value).every((one) => graph.isBefore(sum, one)));
  const result = isSum ? sum!.outputs[0] : dx;
  const narrowings = graph.of(result).filter(isNarrowing);
  const isWidened = withoutWidening(node.inputs[0]) !== node.inputs[0];
  const isFused = isSum || isWidened || narrowings.length > 0;
  return isFused ? { sum: isSum ? sum : undefined, narrowings } : undefined;
}

function replaceBackward(
  node: Node<'LayerNormalizeGradient'>,
  { sum, narrowings }: Parts,
  replacements: Replacements,
): void {
  const now = (value: Value) => replacements.get(value)!;
  const [dy, ...rest] = node.inputs;
  const [dx, ...ofParameters] = node.outputs;
  const other = sum && (sum.inputs[0] === dx ? sum.inputs[1] : sum.inputs[0]);
  const inputs = [withoutWidening(dy), ...rest, ...(other ? [other] : [])].map(now);
  const types = [...node.outputs, ...narrowings.slice(0, 1).map(({ outputs: [narrow] }) => narrow)];
  const made = createNode(
    'LayerNormalizeGradient',
    inputs,
    { ...node.attributes, adds: sum !== undefined },
    types,
  );
  replacements.set(sum?.outputs[0] ?? dx, made.outputs[0]);
  for (const [index, value] of ofParameters.entries()) replacements.set(value, made.outputs[index + 1]);
  for (const { outputs } of narrowings) replacements.set(outputs[0], made.outputs.at(-1)!);
}
