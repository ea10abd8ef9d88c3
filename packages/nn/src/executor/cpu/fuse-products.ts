import { createNode, isNode, type Node, type Value } from '../../graph/node.ts';
import { isSameSequence } from '../../graph/same-data.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { matrixProduct, type ProductOperands } from '../../ops/own/matrix-product.ts';
import { beforeRounding, widened } from '../../ops/elementwise.ts';
import { reshape } from '../../ops/shape.ts';
import { sizeOf } from '../../value-type.ts';
import { Readers } from '../../compiler/readers.ts';

/**
 * Replaces matrix products by an operator of the addon, together with the operators beside them that it computes on the way:
 * transposes of operands, the sum over leading axes, a bias, conversions between float32 and bfloat16.
 */
export function fuseProducts(outputs: readonly Value[]): Value[] {
  const order = topologicalOrder(outputs);
  if (!order.some(isProduct)) return [...outputs];
  const graph = new Readers(order, outputs);
  const replaced = new Map<Value, Value>();
  const current = (value: Value): Value => replaced.get(value) ?? value;
  for (const node of order) {
    if (replaced.has(node.outputs[0])) continue;
    if (isProduct(node) && isWorthIt(node)) {
      for (const [value, by] of fused(planOf(node, graph), current)) replaced.set(value, by);
      continue;
    }
    const inputs = node.inputs.map(current);
    if (isSameSequence(inputs, node.inputs)) continue;
    const made = createNode(node.op, inputs, node.attributes, node.outputs);
    for (const [index, output] of made.outputs.entries()) replaced.set(node.outputs[index], output);
  }
  return outputs.map(current);
}

type Product = Node<'MatMul'> | Node<'Gemm'>;

function isProduct(node: Node): node is Product {
  return isNode(node, 'MatMul') || isNode(node, 'Gemm');
}

/** Products of few rows would take less time than the packing of their right operand. */
function isWorthIt({ outputs: [{ shape }] }: Product): boolean {
  return sizeOf(shape) > 0 && sizeOf(shape.slice(0, -1)) >= minRows;
}

const minRows = 4;

/** A product and the nodes that become part of it. */
interface Plan {
  readonly node: Product;
  readonly bias?: Value | undefined;
  /** The sum over the leading axes. */
  readonly sum?: Value | undefined;
  /** The product, or the sum, in float32, if it is not read in bfloat16. */
  readonly inFloat32?: Value | undefined;
}

function planOf(node: Product, graph: Readers): Plan {
  const [result] = node.outputs;
  const bias = isNode(node, 'Gemm') ? node.inputs.at(2) : undefined;
  const inFloat32 = wideningOf(result, graph);
  const reader = graph.only(inFloat32 ?? result);
  if (isNode(node, 'MatMul') && reader && isSumOverLeading(reader)) {
    const [sum] = reader.outputs;
    const sumInFloat32 = inFloat32 ?? wideningOf(sum, graph);
    // Sums are added in float32.
    if (sumInFloat32 || sum.dtype === 'float32') return { node, sum, inFloat32: sumInFloat32 };
  }
  return { node, bias, inFloat32 };
}

/** A value in float32, if nothing reads it in bfloat16: no result of a product needs to be rounded for it. */
function wideningOf(value: Value, graph: Readers): Value | undefined {
  const reader = graph.only(value);
  const isWidening = reader && isNode(reader, 'Cast') && value.dtype === 'bfloat16';
  return isWidening && reader.outputs[0].dtype === 'float32' ? reader.outputs[0] : undefined;
}

/** True if it adds the matrices of all leading axes. */
function isSumOverLeading(node: Node): boolean {
  if (!isNode(node, 'ReduceSum')) return false;
  const leading = node.inputs[0].shape.length - 2;
  const axes = new Set(node.attributes.axes);
  if (leading === 0 || axes.size !== leading) return false;
  return Array.from({ length: leading }, (_, axis) => axis).every((axis) => axes.has(axis));
}

/** The values that the operator replaces. */
function fused(
  { node, bias, sum, inFloat32 }: Plan,
  current: (value: Value) => Value,
): readonly (readonly [Value, Value])[] {
  const [result] = node.outputs;
  const [left, right] = node.inputs.map((operand) => oriented(operand, current));
  const swaps = isNode(node, 'Gemm') ? node.attributes : { transA: false, transB: false };
  // Products of bfloat16 numbers are exact in float32, so a function that computes in float32 may multiply in bfloat16.
  const inBfloat16 = [left, right].every(({ value }) => value.dtype === 'bfloat16');
  const operands: ProductOperands = {
    left: inBfloat16 ? withoutRounding(left.value) : widened(left.value),
    right: inBfloat16 ? withoutRounding(right.value) : widened(right.value),
    bias: bias && widened(current(bias)),
  };
  const attributes = {
    transLeft: left.isTransposed !== swaps.transA,
    transRight: right.isTransposed !== swaps.transB,
    inBfloat16,
    sums: sum !== undefined,
  };
  const type = { dtype: (inFloat32 ?? result).dtype, shape: sum ? summedShape(result, sum) : result.shape };
  const made = matrixProduct(operands, attributes, type);
  const ending = inFloat32 ?? sum ?? result;
  const values = [result, ...(sum ? [sum] : []), ...(inFloat32 ? [inFloat32] : [])];
  return values.map((value) => [value, shaped(made.outputs[0], ending.shape)] as const);
}

/** A leaf that is rounded before a product in bfloat16: the product rounds it while it packs it. */
function withoutRounding(operand: Value): Value {
  const given = beforeRounding(operand);
  return isNode(given.node, 'Input') ? given : operand;
}

/** With the leading axes as 1, as if they had been kept. */
function summedShape({ shape }: Value, sum: Value): readonly number[] {
  return [...Array<number>(Math.max(0, sum.shape.length - 2)).fill(1), ...shape.slice(-2)];
}

function shaped(value: Value, shape: readonly number[]): Value {
  return isSameSequence(value.shape, shape) ? value : reshape(value, shape);
}

/** An operand without a Transpose of its last two axes, and before a conversion to float32. */
function oriented(operand: Value, current: (value: Value) => Value): { value: Value; isTransposed: boolean } {
  const { node } = operand;
  if (isNode(node, 'Cast') && operand.dtype === 'float32' && node.inputs[0].dtype === 'bfloat16')
    return oriented(node.inputs[0], current);
  if (!isNode(node, 'Transpose') || !swapsLast(node)) return { value: current(operand), isTransposed: false };
  const { value, isTransposed } = oriented(node.inputs[0], current);
  return { value, isTransposed: !isTransposed };
}

function swapsLast({ attributes: { perm } }: Node<'Transpose'>): boolean {
  const last = perm.length - 1;
  return perm.every((axis, place) => axis === (place < last - 1 ? place : place === last ? last - 1 : last));
}
