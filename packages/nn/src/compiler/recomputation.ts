import { isFloat } from '../dtype.ts';
import { isCollective } from '../graph/collective.ts';
import { createNode, isNode, type Node, type Value } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { addDependency } from '../ops/dependency.ts';

/**
 * The nodes of parts between Checkpoint boundaries, computed a second time in the backward pass. Gradients read the copies, so
 * the original values are freed when the forward pass leaves the part.
 *
 * The copies read the inputs of the part through a dependency on the gradient of its output: onnxruntime computes them once
 * that gradient exists, and does not merge them with their originals.
 */
export class Recomputation {
  readonly #copies = new Map<Node, Node>();

  /** The node whose inputs and outputs the gradient of `node` reads: its copy, if it is inside a part. */
  of(node: Node): Node {
    return this.#copies.get(node) ?? node;
  }

  /**
   * Copies the part that a boundary ends. Does nothing for another node.
   *
   * @param gradient of the boundary's output
   */
  begin(boundary: Node, gradient: Value | undefined): void {
    if (!isNode(boundary, 'Checkpoint') || boundary.attributes.side !== 'output' || !gradient) return;
    const copied = new Map<Value, Value>();
    for (const node of topologicalOrder([boundary.inputs[0]], (node) => !isInput(node))) {
      if (isInput(node)) {
        const [value] = node.outputs;
        copied.set(value, isDelayable(value) ? addDependency(value, gradient) : value);
        continue;
      }
      // Ranks run each collective once. Values that depend only on parameters are not activations.
      const dependsOnPart = node.inputs.some((input) => copied.has(input));
      if (!dependsOnPart || isCollective(node)) continue;
      const copy = this.#copies.get(node) ?? copyOf(node, copied);
      this.#copies.set(node, copy);
      for (const [index, output] of node.outputs.entries()) copied.set(output, copy.outputs[index]);
    }
  }
}

function isInput(node: Node): boolean {
  return isNode(node, 'Checkpoint') && node.attributes.side === 'input';
}

function copyOf(node: Node, copied: ReadonlyMap<Value, Value>): Node {
  const inputs = node.inputs.map((input) => copied.get(input) ?? input);
  return createNode(node.op, inputs, node.attributes, node.outputs);
}

function isDelayable({ dtype, shape }: Value): boolean {
  return isFloat({ dtype }) && shape.length > 0;
}
