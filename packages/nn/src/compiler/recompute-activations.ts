import { createNode, isNode, type Node, type Value } from '../graph/node.ts';
import type { OpName } from '../graph/operators.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { sizeOf } from '../value-type.ts';
import { addDependency } from '../ops/dependency.ts';
import { rewrite } from './rewrite.ts';

/**
 * Computes values in bfloat16 again in the backward pass instead of keeping them, if one pass over values that are kept anyway
 * computes them: a normalization, an activation, or the rounding of a parameter. A program in bfloat16 asked for less
 * memory (`autocast`); programs in float32 stay as they are. torch.compile chooses similarly, by a minimum cut.
 *
 * @param outputs of a training step
 * @param forwardCount how many of them, from the first, are of the forward pass
 */
export function recomputeActivations(outputs: readonly Value[], forwardCount: number): Value[] {
  const early = forwardNodes(outputs, forwardCount);
  const kept = keptValues(outputs, early);
  const chosen = chosenFrom(kept);
  if (chosen.size === 0) return [...outputs];
  const copies = new Copies(kept, chosen);
  return rewrite(outputs, [
    (node, original) => {
      if (early.has(original) || !original.inputs.some((input) => chosen.has(input))) return undefined;
      const trigger = node.inputs.find((_, position) => isGradient(original.inputs[position], early))!;
      const inputs = node.inputs.map((input, position) => {
        const value = original.inputs[position];
        return chosen.has(value) ? copies.of(value, trigger) : input;
      });
      return createNode(node.op, inputs, node.attributes, node.outputs).outputs;
    },
  ]);
}

/** The nodes of the forward pass, and views of their values that only gradients read. */
function forwardNodes(outputs: readonly Value[], forwardCount: number): Set<Node> {
  const nodes = new Set(topologicalOrder(outputs.slice(0, forwardCount)));
  for (const node of topologicalOrder(outputs)) {
    if (views.has(node.op) && nodes.has(node.inputs[0].node)) nodes.add(node);
  }
  return nodes;
}

function isGradient({ node }: Value, early: ReadonlySet<Node>): boolean {
  return !early.has(node) && !isLeaf(node);
}

/** Values of early nodes that later nodes read, and whether each of these nodes reads a gradient too. */
function keptValues(outputs: readonly Value[], early: ReadonlySet<Node>): Map<Value, boolean> {
  const kept = new Map<Value, boolean>();
  for (const node of topologicalOrder(outputs)) {
    if (early.has(node)) continue;
    const readsGradient = node.inputs.some((input) => isGradient(input, early));
    for (const input of node.inputs) {
      if (early.has(input.node)) kept.set(input, readsGradient && kept.get(input) !== false);
    }
  }
  return kept;
}

/** Never both a value and one that it is computed from, except a view: a chain of copies would keep as much as before. */
function chosenFrom(kept: ReadonlyMap<Value, boolean>): Set<Value> {
  const chosen = new Set<Value>();
  const isComputable = ({ node }: Value): boolean => {
    if (!cheap.has(node.op)) return false;
    return node.inputs.every((input) => {
      if (chosen.has(input)) return views.has(node.op);
      return kept.has(input) || isLeaf(input.node) || isComputable(input);
    });
  };
  const inOrder = topologicalOrder([...kept.keys()]).flatMap(({ outputs }) => outputs);
  for (const value of inOrder) {
    const isWorthIt = value.dtype === 'bfloat16' && sizeOf(value.shape) >= smallest;
    if (kept.get(value) === true && isWorthIt && isComputable(value)) chosen.add(value);
  }
  return chosen;
}

/** Copies of the nodes from the kept values to the chosen ones. The first trigger makes a copy late. */
class Copies {
  readonly #kept: ReadonlyMap<Value, boolean>;
  readonly #chosen: ReadonlySet<Value>;
  readonly #copies = new Map<Node, Node>();

  constructor(kept: ReadonlyMap<Value, boolean>, chosen: ReadonlySet<Value>) {
    this.#kept = kept;
    this.#chosen = chosen;
  }

  of({ node, index }: Value, trigger: Value): Value {
    let copy = this.#copies.get(node);
    if (copy === undefined) {
      const isCopied = (input: Value) =>
        this.#chosen.has(input) || (!this.#kept.has(input) && !isLeaf(input.node));
      // One late input makes the node late.
      const late = node.inputs.some(isCopied)
        ? undefined
        : node.inputs.reduce((a, b) => (sizeOf(b.shape) > sizeOf(a.shape) ? b : a));
      const inputs = node.inputs.map((input) => {
        if (isCopied(input)) return this.of(input, trigger);
        return input === late ? addDependency(input, trigger) : input;
      });
      copy = createNode(node.op, inputs, node.attributes, node.outputs);
      this.#copies.set(node, copy);
    }
    return copy.outputs[index];
  }
}

function isLeaf(node: Node): boolean {
  return isNode(node, 'Input') || isNode(node, 'Number') || isNode(node, 'Constant');
}

const views: ReadonlySet<OpName> = new Set<OpName>(['Reshape', 'Transpose']);

/** Operators of one pass over memory. Sums of two arrays are not: layers with residuals would be a chain of copies. */
const cheap: ReadonlySet<OpName> = new Set<OpName>([
  ...views,
  'BatchNormalizeActivate',
  'Cast',
  'Dropout',
  'Gelu',
  'LayerNormalize',
  'Relu',
  'Sigmoid',
  'Tanh',
]);

/** Elements. Smaller arrays stay in a cache. */
const smallest = 2 ** 16;
