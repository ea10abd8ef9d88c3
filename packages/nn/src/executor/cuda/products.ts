import type { GpuMatrix, GpuProduct } from '@ringrun/native';
import { isNode, type Node, type Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import { bytesOf, gpuDType } from './element-types.ts';
import { after, type Lowering, type LoweringFamily, type ReadsOf } from './lowering.ts';

/** A factor, or the value that has its matrices transposed. */
interface Factor {
  readonly value: Value;
  readonly transposed: boolean;
}

export const products: LoweringFamily<'Gemm' | 'MatMul'> = {
  Gemm: ({ inputs, outputs: [y], attributes: { transA, transB } }, lowering) => {
    const [a, b, bias] = inputs as readonly [Value, Value, Value?];
    const [m, n] = y.shape;
    lowering.add({
      ...{ kind: 'product', name: 'gemm', ...precisionOf(lowering, a, y), m, n, k: a.shape[transA ? 0 : 1] },
      left: { at: lowering.at(a), transposed: transA },
      right: { at: lowering.at(b), transposed: transB },
      result: { at: lowering.at(y) },
      ...(bias && { bias: lowering.at(bias) }),
    });
  },
  MatMul: (node, lowering) => {
    const [left, right] = node.inputs.map(factorOf);
    const [y] = node.outputs;
    const [m, n] = y.shape.slice(-2);
    const k = node.inputs[0].shape.at(-1)!;
    const batch = y.shape.slice(0, -2);
    const [ofLeft, ofRight] = node.inputs.map(({ shape }) => batchStrides(shape, batch));
    // One product over the rows of all matrices, if the right one is the same for all.
    if (
      ofRight.every((stride) => stride === 0) &&
      !left.transposed &&
      ofLeft.every((stride) => stride !== 0)
    ) {
      const rows = m * sizeOf(batch);
      const size = { m: rows, n, k, batch: 1, ...precisionOf(lowering, left.value, y) };
      addProduct(lowering, size, [matrix(lowering, left), matrix(lowering, right)], { at: lowering.at(y) });
      return;
    }
    addBatches(lowering, { m, n, k }, { left, right, y }, batch, [ofLeft, ofRight]);
  },
};

/** Transposed matrices are read by the product. */
export const readsOfMatMul: ReadsOf<'MatMul'> = ({ inputs }) => inputs.map((input) => factorOf(input).value);

type Precision = Pick<GpuProduct, 'dtype' | 'resultDtype' | 'tf32'>;

/** Of a product of factors like this one. */
function precisionOf({ settings: { tf32 } }: Lowering, factor: Value, result: Value): Precision {
  return { dtype: gpuDType(factor), resultDtype: gpuDType(result), tf32: tf32.products };
}

type Size = Readonly<Record<'m' | 'n' | 'k', number>>;

/** As few products as possible: one for the inner axes of the batch along which both factors have one distance. */
function addBatches(
  lowering: Lowering,
  size: Size,
  { left, right, y }: { readonly left: Factor; readonly right: Factor; readonly y: Value },
  batch: readonly number[],
  strides: readonly (readonly number[])[],
): void {
  let inner = 1;
  let axis = batch.length - 1;
  const step = strides.map((own) => own.at(-1) ?? 0);
  while (axis >= 0 && strides.every((own, side) => batch[axis] === 1 || own[axis] === step[side] * inner)) {
    inner *= batch[axis];
    axis -= 1;
  }
  const outer = batch.slice(0, axis + 1);
  const [factorBytes, resultBytes] = [left.value, y].map(({ dtype }) => bytesOf(dtype));
  for (let index = 0; index < sizeOf(outer); index += 1) {
    const at = strides.map((own) => placeOf(index, outer, own));
    addProduct(
      lowering,
      { ...size, batch: inner, ...precisionOf(lowering, left.value, y) },
      [left, right].map((factor, side) => ({
        ...matrix(lowering, factor, factorBytes * at[side] * matrixSize(factor)),
        batchStride: step[side] * matrixSize(factor),
      })),
      { at: after(lowering.at(y), resultBytes * index * inner * size.m * size.n) },
    );
  }
}

function addProduct(
  lowering: Lowering,
  size: Size & Precision & { readonly batch: number },
  [left, right]: readonly GpuMatrix[],
  result: GpuMatrix,
): void {
  lowering.add({ kind: 'product', name: 'matmul', ...size, left, right, result });
}

/** Matrices from one to the next along each axis of the batch; 0 where a matrix is repeated. */
function batchStrides(shape: readonly number[], batch: readonly number[]): number[] {
  const own = shape.slice(0, -2);
  const strides = batch.map(() => 0);
  let stride = 1;
  for (let fromEnd = 1; fromEnd <= own.length; fromEnd += 1) {
    const size = own[own.length - fromEnd];
    if (size !== 1 || batch[batch.length - fromEnd] === 1) strides[batch.length - fromEnd] = stride;
    stride *= size;
  }
  return strides;
}

function placeOf(index: number, outer: readonly number[], strides: readonly number[]): number {
  let rest = index;
  let place = 0;
  for (let axis = outer.length - 1; axis >= 0; axis -= 1) {
    place += (rest % outer[axis]) * strides[axis];
    rest = Math.floor(rest / outer[axis]);
  }
  return place;
}

function matrixSize({ value }: Factor): number {
  return sizeOf(value.shape.slice(-2));
}

function matrix(lowering: Lowering, { value, transposed }: Factor, bytes = 0): GpuMatrix {
  return { at: after(lowering.at(value), bytes), transposed };
}

/** Without a Transpose of the last two axes, which the product does itself. */
function factorOf(input: Value): Factor {
  const { node } = input;
  return isNode(node, 'Transpose') && swapsLastAxes(node)
    ? { value: node.inputs[0], transposed: true }
    : { value: input, transposed: false };
}

function swapsLastAxes({ attributes: { perm } }: Node<'Transpose'>): boolean {
  const rank = perm.length;
  return perm.every((axis, place) => axis === (place < rank - 2 ? place : 2 * rank - 3 - place));
}
