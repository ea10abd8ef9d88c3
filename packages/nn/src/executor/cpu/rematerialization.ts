import { createNode, isNode, type Node, type Value } from '../../graph/node.ts';
import { isParameter } from '../../graph/topology.ts';
import { sizeOf } from '../../value-type.ts';
import { addDependency } from '../../ops/dependency.ts';
import { rewrite } from '../../compiler/rewrite.ts';

/**
 * Recomputes linear maps of parameters, such as Toom-Cook's transformed kernels, for each reader once its other inputs are
 * available. Otherwise onnxruntime computes them before the first layer and keeps them until the backward pass; they take
 * twice the memory of the parameters and 1/100 of a step's time.
 */
export function rematerializeParameterMaps(outputs: readonly Value[]): Value[] {
  return rewrite(outputs, [
    (node) => {
      const trigger = node.inputs.find((input) => !isNumber(input) && !isParameterMap(input));
      if (trigger === undefined || !node.inputs.some(isParameterMap)) return undefined;
      const inputs = node.inputs.map((input) =>
        isParameterMap(input) ? rematerialized(input, trigger) : input,
      );
      return createNode(node.op, inputs, node.attributes, node.outputs).outputs;
    },
  ]);
}

function isNumber({ node }: Value): boolean {
  return isNode(node, 'Constant') || isNode(node, 'Number');
}

/** True for a constant matrix times a view of a parameter, or a view of that product, of at least 256 KiB. */
function isParameterMap({ node, shape }: Value): boolean {
  if (sizeOf(shape) < 2 ** 16) return false;
  const [first, second] = node.inputs;
  if (isNode(node, 'Reshape')) return isParameterMap(first);
  return isNode(node, 'Gemm') && isNode(first.node, 'Constant') && isViewOfParameter(second.node);
}

function isViewOfParameter(node: Node): boolean {
  if (isNode(node, 'Reshape')) return isViewOfParameter(node.inputs[0].node);
  return isParameter(node);
}

/** A copy of a map that is computed after the trigger. */
function rematerialized({ node }: Value, trigger: Value): Value {
  const [first, ...rest] = node.inputs;
  const dependent = isNode(first.node, 'Constant')
    ? addDependency(first, trigger)
    : rematerialized(first, trigger);
  return createNode(node.op, [dependent, ...rest], node.attributes, node.outputs).outputs[0];
}
