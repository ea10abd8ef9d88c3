import type { Node } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import { memoryTypes, registerTypes } from './element-types.ts';
import {
  blockSize,
  blocksFor,
  elementIndex,
  generated,
  mergedAxes,
  positionOf,
  stridesOf,
} from './generated.ts';
import type { Lowering, LoweringFamily, ReadsOf } from './lowering.ts';
import { lowerColumns } from './reduce-columns.ts';
import { unwidened } from './views.ts';

type Reduction = 'ReduceSum' | 'ReduceMean' | 'ReduceMax';

export const reductions: LoweringFamily<Reduction> = {
  ReduceSum: lowerReduction,
  ReduceMean: lowerReduction,
  ReduceMax: lowerReduction,
};

/** Kernels widen what they load. */
export const readsOfReduction: ReadsOf<Reduction> = ({ inputs: [x] }) => [unwidened(x)];

/**
 * Reduces in a fixed order: a thread for each result, or, for a few long sums, a block of threads. Thread `t` of a block takes
 * elements t, t + 256, …; then the partial results of the threads are combined in pairs.
 */
function lowerReduction(node: Node<Reduction>, lowering: Lowering): void {
  if (isOfColumns(node)) {
    lowerColumns(node, lowering, operationOf(node));
    return;
  }
  const {
    inputs: [x],
    outputs: [y],
    attributes: { axes: reduced },
  } = node;
  const strides = stridesOf(x.shape);
  const ofAxes = (chosen: readonly number[]) =>
    mergedAxes(chosen.map((axis) => ({ size: x.shape[axis], strides: [strides[axis]] })));
  const isReduced = new Set(reduced);
  const inner = [...x.shape.keys()].filter((axis) => isReduced.has(axis));
  const outer = [...x.shape.keys()].filter((axis) => !isReduced.has(axis));
  const count = sizeOf(inner.map((axis) => x.shape[axis]));
  const results = sizeOf(y.shape);
  const source = unwidened(x);
  const type = registerTypes[x.dtype];
  const [start, combine] = operationOf(node);
  const end = node.op === 'ReduceMean' ? `value / ${count}.0f` : 'value';
  const element = `from[first + ${positionOf(ofAxes(inner), 0, 'r')}]`;
  const first = (index: string) => `const unsigned long long first = ${positionOf(ofAxes(outer), 0, index)};`;
  const parameters = [`const ${memoryTypes[source.dtype]}* from`, `${memoryTypes[y.dtype]}* to`];
  const args = [lowering.at(source), lowering.at(y)];
  if (count <= mostOfThread || results >= manyResults) {
    const body = `${elementIndex(results)}
  ${first('i')}
  ${type} value = ${start};
  for (unsigned r = 0; r < ${count}u; r += 1) value = ${combine('value', element)};
  to[i] = ${end};`;
    const kernel = generated('reduce', parameters, body);
    lowering.launch(kernel, blocksFor(results), [blockSize, 1, 1], args);
    return;
  }
  const body = `  __shared__ ${type} parts[${blockSize}];
  const unsigned i = blockIdx.x;
  ${first('i')}
  ${type} value = ${start};
  for (unsigned r = threadIdx.x; r < ${count}u; r += ${blockSize}u) value = ${combine('value', element)};
  parts[threadIdx.x] = value;
  for (unsigned half = ${blockSize / 2}u; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      parts[threadIdx.x] = ${combine('parts[threadIdx.x]', 'parts[threadIdx.x + half]')};
    }
  }
  if (threadIdx.x == 0) {
    value = parts[0];
    to[i] = ${end};
  }`;
  lowering.launch(generated('reduceBlock', parameters, body), [results, 1, 1], [blockSize, 1, 1], args);
}

/**
 * True if all axes but the last are reduced, of many rows: a block for each result would read elements that are far from each other.
 */
function isOfColumns({ inputs: [{ shape, dtype }], attributes: { axes } }: Node<Reduction>): boolean {
  const columns = shape[shape.length - 1];
  const isLeading = axes.length === shape.length - 1 && !axes.includes(shape.length - 1);
  const rows = sizeOf(shape.slice(0, -1));
  return isLeading && dtype !== 'bool' && rows > mostOfThread && columns > 1 && columns < manyResults;
}

/** The result of no element, and that of two parts. */
function operationOf({
  op,
  inputs: [x],
}: Node<Reduction>): readonly [string, (a: string, b: string) => string] {
  if (op !== 'ReduceMax') return ['0', (a, b) => `${a} + ${b}`];
  const least = x.dtype === 'int64' ? '(-9223372036854775807LL - 1)' : '__uint_as_float(0xff800000u)';
  return [least, (a, b) => `greaterOf(${a}, ${b})`];
}

/** Elements that one thread reduces, even if there are few results. */
const mostOfThread = 32;

/** Results for which a thread each fills the GPU. */
const manyResults = 2 ** 14;
