import { createNode, isNode, sizeOf, type Node, type Value } from '../graph/node.ts';
import { after } from '../ops/after.ts';
import { rewrite } from './rewrite.ts';

/**
 * The same graph, in which linear maps of parameters, such as a convolution's kernels at the points of Toom-Cook, are computed for each reader, when what else
 * it reads is there. The kernels take twice the memory of the parameters and a hundredth of a step's time, and otherwise are made before the first layer runs,
 * and kept from the forward pass to the backward pass.
 */
export function mapParametersLate(outputs: readonly Value[]): Value[] {
  return rewrite(outputs, [
    (node) => {
      const trigger = node.inputs.find((input) => !isNumber(input) && !isMap(input));
      if (trigger === undefined || !node.inputs.some(isMap)) return undefined;
      const inputs = node.inputs.map((input) => (isMap(input) ? remade(input, trigger) : input));
      return createNode(node.op, inputs, node.attributes, node.outputs).outputs;
    },
  ]);
}

function isNumber({ node }: Value): boolean {
  return isNode(node, 'Constant') || isNode(node, 'Number');
}

/** A constant matrix times a view of a parameter, from a quarter of a megabyte on, or a view of that. */
function isMap({ node, shape }: Value): boolean {
  if (sizeOf(shape) < 2 ** 16) return false;
  const [first, second] = node.inputs;
  if (isNode(node, 'Reshape')) return isMap(first);
  return isNode(node, 'Gemm') && isNode(first.node, 'Constant') && isViewOfParameter(second.node);
}

function isViewOfParameter(node: Node): boolean {
  if (isNode(node, 'Reshape')) return isViewOfParameter(node.inputs[0].node);
  return isNode(node, 'Input') && node.attributes.source.parameter !== undefined;
}

/** A map of which nothing is computed before the trigger. */
function remade({ node }: Value, trigger: Value): Value {
  const [first, ...rest] = node.inputs;
  const begun = isNode(first.node, 'Constant') ? after(first, trigger) : remade(first, trigger);
  return createNode(node.op, [begun, ...rest], node.attributes, node.outputs).outputs[0];
}
