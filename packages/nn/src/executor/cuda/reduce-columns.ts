import type { Node } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import { memoryTypes, registerTypes } from './element-types.ts';
import { blockSize, generated } from './generated.ts';
import type { Lowering } from './lowering.ts';
import { unwidened } from './views.ts';

type Reduction = 'ReduceSum' | 'ReduceMean' | 'ReduceMax';

/** Columns of a block. Its other threads divide the rows among them. */
const columnsOfBlock = 32;
const lanes = blockSize / columnsOfBlock;

/** Blocks that fill the largest GPU. */
const manyBlocks = 528;

/** Rows that a block reduces at least. */
const rowsOfBlock = 256;

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
  const bodyOf = (count: number, result: string) => `  __shared__ ${type} parts[${blockSize}];
  const unsigned lane = threadIdx.x / ${columnsOfBlock}u;
  const unsigned column = blockIdx.x * ${columnsOfBlock}u + threadIdx.x % ${columnsOfBlock}u;
  const unsigned begin = (unsigned long long)${count}u * blockIdx.y / gridDim.y;
  const unsigned end = (unsigned long long)${count}u * (blockIdx.y + 1) / gridDim.y;
  ${type} value = ${start};
  if (column < ${columns}u) {
#pragma unroll 8
    for (unsigned row = begin + lane; row < end; row += ${lanes}u) {
      const unsigned long long i = (unsigned long long)row * ${columns}u + column;
      value = ${combine('value', 'from[i]')};
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
  const source = unwidened(x);
  const isWhole = parts === 1;
  const kernel = generated(
    'reduceColumns',
    [`const ${memoryTypes[source.dtype]}* from`, `${isWhole ? memoryTypes[y.dtype] : type}* to`],
    bodyOf(rows, isWhole ? end : 'value'),
  );
  const partial = isWhole
    ? lowering.at(y)
    : lowering.scratch((x.dtype === 'int64' ? 8 : 4) * columns * parts);
  lowering.launch(kernel, [groups, parts, 1], [blockSize, 1, 1], [lowering.at(source), partial]);
  if (isWhole) return;
  const last = generated(
    'reduceColumns',
    [`const ${type}* from`, `${memoryTypes[y.dtype]}* to`],
    bodyOf(parts, end),
  );
  lowering.launch(last, [groups, 1, 1], [blockSize, 1, 1], [partial, lowering.at(y)]);
}
