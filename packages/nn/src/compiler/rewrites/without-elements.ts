import type { Scalar } from '../../dtype.ts';
import { isCollective } from '../../graph/collective.ts';
import { isNode, type Node, type Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import type { OpName } from '../../graph/operators.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { cast } from '../../ops/elementwise.ts';
import { concat, expand } from '../../ops/shape.ts';
import { constant, emptyConstant, int64Constant } from '../../ops/source.ts';
import type { Rewrite } from '../rewrite.ts';

/** The value that an operator computes from empty inputs, for its outputs that have elements. */
type OfNothing<Op extends OpName> = (node: Node<Op>) => readonly Value[] | undefined;

/**
 * A rule that replaces empty values, and values computed from them, by constants. So no
 * operator runs on arrays that it may not support: onnxruntime divides by zero in TopK of an empty batch, which ends the process,
 * and reshapes [0, 3] to [3, 3]. Applied before differentiation, it makes the gradients of these values zero.
 *
 * @param outputs of the graph that is rewritten. A graph with collectives keeps the operators that can run: all ranks run a
 * collective and its gradient, even if this rank has no elements.
 */
export function withoutElements(outputs: readonly Value[]): Rewrite {
  const isShared = topologicalOrder(outputs).some(isCollective);
  return (node) => {
    if (isNode(node, 'Input') || isNode(node, 'Constant') || isCollective(node)) return undefined;
    if (isShared && !isNode(node, 'TopK')) return undefined;
    if (!node.outputs.some(isEmpty) && !node.inputs.some(isEmpty)) return undefined;
    const results = node.outputs.every(isEmpty) ? node.outputs : valuesOfNothing(node);
    return results?.map((value) => (isEmpty(value) ? emptyLike(value) : value));
  };
}

function valuesOfNothing(node: Node): readonly Value[] | undefined {
  const rule = ofNothing[node.op];
  // The rule belongs to the node's operator.
  return rule && (rule as OfNothing<OpName>)(node);
}

const zeros: OfNothing<OpName> = ({ outputs }) => outputs.map((output) => filled(output, 0));
const undefinedMeans: OfNothing<OpName> = ({ outputs }) => outputs.map((output) => filled(output, NaN));

/** Operators that produce elements without reading any. Others fail at run time. */
const ofNothing: { readonly [Op in OpName]?: OfNothing<Op> } = {
  ReduceSum: zeros,
  ReduceMean: undefinedMeans,
  Normalize: undefinedMeans,
  MatMul: zeros,
  Gemm: ({ inputs, outputs: [sum] }) => [inputs.length > 2 ? expand(inputs[2], sum.shape) : filled(sum, 0)],
  Concat: ({ inputs, attributes: { axis } }) => [
    concat(
      inputs.filter((input) => !isEmpty(input)),
      axis,
    ),
  ],
  Pad: ({ outputs: [padded], attributes: { value = 0 } }) => [filled(padded, value)],
  ScatterElements: zeros,
  Scatter: ({ inputs: [data] }) => [data],
  AddRows: zeros,
};

function isEmpty({ shape }: Value): boolean {
  return sizeOf(shape) === 0;
}

function emptyLike({ dtype, shape }: Value): Value {
  if (dtype === 'bfloat16') return cast(emptyConstant({ dtype: 'float32', shape }), dtype);
  return emptyConstant({ dtype, shape });
}

function filled({ dtype, shape }: Value, element: Scalar): Value {
  const scalar = dtype === 'int64' ? int64Constant([], [element]) : cast(constant(Number(element)), dtype);
  return expand(scalar, shape);
}
