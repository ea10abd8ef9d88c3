import { isNode, type Node, type Value } from '../../graph/node.ts';
import { isSameSequence } from '../../graph/same-data.ts';
import { sizeOf } from '../../value-type.ts';
import { memoryTypes, registerTypes } from './element-types.ts';
import { blockSize, generated } from './generated.ts';
import type { Lowering } from './lowering.ts';
import { unwidened, viewedValue } from './views.ts';

type Reduction = 'ReduceSum' | 'ReduceMean' | 'ReduceMax';

/** Columns of a block. Its other threads divide the rows among them. */
const columnsOfBlock = 32;
const lanes = blockSize / columnsOfBlock;

/** Blocks that fill the largest GPU. */
const manyBlocks = 528;

/** Rows that a block reduces at least. */
const rowsOfBlock = 256;

/** What the kernel of a reduction of columns reads. */
export function readsOfColumns({ inputs: [x] }: Node<Reduction>): readonly Value[] {
  return operandsOf(x).map(unwidened);
}

/**
 * Reduces [rows, columns] to [columns] in a fixed order: blocks reduce some rows of 32 columns, of which neighbouring threads read
 * neighbouring elements; then, if there are several blocks for a column, their results are reduced likewise.
 *
 * @param operation the result of no element, and that of two parts
 */
export function lowerColumns(
  node: Node<Reduction>,
  lowering: Lowering,
  [start, combine]: readonly [string, (a: string, b: string) => string],
): void {
  const [[x], [y]] = [node.inputs, node.outputs];
  const columns = x.shape[x.shape.length - 1];
  const rows = sizeOf(x.shape) / columns;
  const groups = Math.ceil(columns / columnsOfBlock);
  const parts = Math.max(1, Math.min(Math.floor(manyBlocks / groups), Math.ceil(rows / rowsOfBlock)));
  const type = registerTypes[x.dtype];
  const end = node.op === 'ReduceMean' ? `value / ${rows}.0f` : 'value';
  const bodyOf = (
    count: number,
    element: string,
    result: string,
  ) => `  __shared__ ${type} parts[${blockSize}];
  const unsigned lane = threadIdx.x / ${columnsOfBlock}u;
  const unsigned column = blockIdx.x * ${columnsOfBlock}u + threadIdx.x % ${columnsOfBlock}u;
  const unsigned begin = (unsigned long long)${count}u * blockIdx.y / gridDim.y;
  const unsigned end = (unsigned long long)${count}u * (blockIdx.y + 1) / gridDim.y;
  ${type} value = ${start};
  if (column < ${columns}u) {
#pragma unroll 8
    for (unsigned row = begin + lane; row < end; row += ${lanes}u) {
      const unsigned long long i = (unsigned long long)row * ${columns}u + column;
      value = ${combine('value', element)};
    }
  }
  parts[threadIdx.x] = value;
  for (unsigned half = ${blockSize / 2}u; half >= ${columnsOfBlock}u; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] = ${combine('parts[threadIdx.x]', 'parts[threadIdx.x + half]')};
  }
  if (lane != 0 || column >= ${columns}u) return;
  value = parts[threadIdx.x];
  to[blockIdx.y * ${columns}u + column] = ${result};`;
  const operands = operandsOf(x).map(unwidened);
  const parameters = operands.map(({ dtype }, index) => `const ${memoryTypes[dtype]}* from${index}`);
  const element = operands.length === 1 ? 'from0[i]' : 'from0[i] * (from1[i] - from2[column])';
  const isWhole = parts === 1;
  const kernel = generated(
    'reduceColumns',
    [...parameters, `${isWhole ? memoryTypes[y.dtype] : type}* to`],
    bodyOf(rows, element, isWhole ? end : 'value'),
  );
  const partial = isWhole
    ? lowering.at(y)
    : lowering.scratch((x.dtype === 'int64' ? 8 : 4) * columns * parts);
  const args = [...operands.map((operand) => lowering.at(operand)), partial];
  lowering.launch(kernel, [groups, parts, 1], [blockSize, 1, 1], args);
  if (isWhole) return;
  const last = generated(
    'reduceColumns',
    [`const ${type}* from`, `${memoryTypes[y.dtype]}* to`],
    bodyOf(parts, 'from[i]', end),
  );
  lowering.launch(last, [groups, 1, 1], [blockSize, 1, 1], [partial, lowering.at(y)]);
}

/**
 * The operands whose elements a kernel reads for those of a value: the value; or, for the gradient of batch normalization, d, x and
 * the means of d·(x − mean).
 */
function operandsOf(value: Value): readonly Value[] {
  const { node, shape } = value;
  if (!isNode(node, 'Mul') || value.dtype !== 'float32') return [value];
  for (const [factor, other] of [node.inputs, node.inputs.toReversed()]) {
    const distance = distanceOf(other, shape);
    if (distance !== undefined && isSameSequence(factor.shape, shape)) return [factor, ...distance];
  }
  return [value];
}

/** x and the means, for the distances of the columns of x from their means. */
function distanceOf({ node, shape }: Value, whole: readonly number[]): readonly Value[] | undefined {
  if (!isNode(node, 'Sub') || !isSameSequence(shape, whole)) return undefined;
  const [x, means] = node.inputs;
  const isOfColumns = sizeOf(means.shape) === whole[whole.length - 1] && means.shape.at(-1) === whole.at(-1);
  const hasMemory = !isNode(viewedValue(means).node, 'Constant');
  return isOfColumns && hasMemory && isSameSequence(x.shape, whole) ? [x, means] : undefined;
}
