import { createNode, type Node, type Value, type ValueType } from '../../../graph/node.ts';
import type { OpName } from '../../../graph/operators.ts';
import { reshape } from '../../../ops/shape.ts';
import { swapped, isBatchInnermost, toBatchInnermost, toNchw } from './layout.ts';

/** Operators that compute each element independently or per channel, so that the other axes may have any order. */
const following = new Set<OpName>([
  ...(['Add', 'Sub', 'Mul', 'Div', 'Max', 'Min', 'Greater', 'GreaterOrEqual', 'Equal', 'Where'] as const),
  ...(['Neg', 'Exp', 'Log', 'Sqrt', 'Pow', 'Abs', 'Sign', 'Erf', 'Identity', 'Cast'] as const),
  ...(['Relu', 'LeakyRelu', 'Tanh', 'Sigmoid', 'Softplus'] as const),
  ...(['Affine', 'BatchNormalize'] as const),
]);

/** Operators whose inputs after the first have one number per channel, [C]. */
const perChannel = new Set<OpName>(['Affine', 'BatchNormalize']);

/** Operators between convolutions adopt their layout, so that nothing is transposed between them. */
export function elementwise(node: Node): readonly Value[] | undefined {
  if (!following.has(node.op) || !node.inputs.some(isBatchInnermost)) return undefined;
  const inputs = node.inputs.map((input, index) =>
    perChannel.has(node.op) && index > 0 ? input : transposed(input),
  );
  const types = node.outputs.map((type) => (isImage(type) ? { ...type, shape: swapped(type.shape) } : type));
  const { outputs } = createNode(node.op, inputs, node.attributes, types);
  return outputs.map((output) => (isImage(output) ? toNchw(output) : output));
}

/** Broadcasting aligns from the right, so missing axes are the first ones. */
function transposed(value: Value): Value {
  const { shape } = value;
  if (shape.length === 0) return value;
  const missing = Array<number>(4 - shape.length).fill(1);
  return toBatchInnermost(reshape(value, [...missing, ...shape]));
}

function isImage({ shape }: ValueType): boolean {
  return shape.length === 4;
}
