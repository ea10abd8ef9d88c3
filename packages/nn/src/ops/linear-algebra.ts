import { promotedFloat } from './promotion.ts';
import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import { createValue, type Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { broadcastShape, sumToShape } from './broadcast.ts';
import { emitPlain, type OperatorFamily } from './definition.ts';
import { reshape, transpose } from './shape.ts';
import { constantTensor } from './source.ts';

export interface Transposition {
  transA?: boolean;
  transB?: boolean;
}

/** A·B, or A·B + C with a C that broadcasts over the rows; A and B are matrices, transposed on request. */
export function gemm(a: Value, b: Value, c?: Value, transposition: Transposition = {}): Value {
  const { transA = false, transB = false } = transposition;
  const [rows, innerA] = orient(a, transA);
  const [innerB, columns] = orient(b, transB);
  if (innerA !== innerB) {
    throw new ShapeError(
      `linear: ${describeType(a)}${transA ? ' transposed' : ''} times ${describeType(b)}${transB ? ' transposed' : ''}: ` +
        `expected equal inner dimensions, got ${innerA} and ${innerB}.`,
    );
  }
  if (c !== undefined && !(isFloat(c) && c.shape.length === 1 && c.shape[0] === columns)) {
    throw new ShapeError(`linear: expected a bias float32[${columns}], got ${describeType(c)}.`);
  }
  const inputs = c === undefined ? [a, b] : [a, b, c];
  return createValue(
    'Gemm',
    inputs,
    { transA, transB },
    { dtype: promotedFloat(a, b), shape: [rows, columns] },
  );
}

/** Sums the rows of a matrix, [1, columns]. A product, since onnxruntime's ReduceSum over the first axis is 2 to 4 times slower. */
export function sumOfRows(matrix: Value): Value {
  const [rows] = matrix.shape;
  return rows === 1 ? matrix : gemm(constantTensor([1, rows], Array<number>(rows).fill(1)), matrix);
}

/** Matrix products: […, M, K] times […, K, N] is […, M, N]; leading dimensions broadcast. */
export function matmul(a: Value, b: Value): Value {
  const [rows, inner] = a.shape.slice(-2);
  const [innerB, columns] = b.shape.slice(-2);
  const matrices = [a, b].every((value) => isFloat(value) && value.shape.length >= 2);
  if (!matrices || inner !== innerB || !leadingBroadcast(a.shape, b.shape)) {
    throw new ShapeError(
      `matmul: expected float32[…,M,K] and float32[…,K,N] whose leading dimensions broadcast, got ${describeType(a)} and ${describeType(b)}.`,
    );
  }
  const leading = (value: Value): Value => ({ ...value, shape: value.shape.slice(0, -2) });
  const shape = [...broadcastShape('matmul', leading(a), leading(b)), rows, columns];
  return createValue('MatMul', [a, b], {}, { dtype: promotedFloat(a, b), shape });
}

function leadingBroadcast(a: readonly number[], b: readonly number[]): boolean {
  return a
    .slice(0, -2)
    .toReversed()
    .every((size, fromEnd) => size === 1 || [1, size, undefined].includes(b.slice(0, -2).at(-1 - fromEnd)));
}

/**
 * torch.matmul: a vector on the left is a row, on the right a column; the result omits its dimension. With a
 * matrix on the right, all rows are multiplied in one product.
 */
export function torchMatmul(a: Value, b: Value): Value {
  const innerB = b.shape.length === 1 ? b.shape[0] : b.shape.at(-2);
  if (a.shape.length === 0 || a.shape.at(-1) !== innerB) {
    throw new ShapeError(
      `matmul: expected […,M,K] or [K] and […,K,N] or [K], got ${describeType(a)} and ${describeType(b)}.`,
    );
  }
  const left = a.shape.length === 1 ? reshape(a, [1, a.shape[0]]) : a;
  const right = b.shape.length === 1 ? reshape(b, [b.shape[0], 1]) : b;
  const full =
    right.shape.length === 2 && left.shape.length > 2
      ? overRows(left, (rows) => matmul(rows, right))
      : matmul(left, right);
  const shape = full.shape.filter((_, axis) => {
    const fromEnd = full.shape.length - axis;
    return !(fromEnd === 2 && a.shape.length === 1) && !(fromEnd === 1 && b.shape.length === 1);
  });
  return reshape(full, shape);
}

/**
 * Applies a function of a matrix's rows to a value of any rank: […, K] is reshaped to [rows, K], and [rows, N] back to
 * […, N]. The first dimension stays dynamic, so that an exported model accepts every batch size.
 */
export function overRows(value: Value, compute: (rows: Value) => Value): Value {
  const { shape } = value;
  if (shape.length === 2) return compute(value);
  const leading = shape.slice(0, -1);
  const open = sizeOf(shape) > 0 && shape.length > 1;
  const rows = compute(reshape(value, [open ? -1 : sizeOf(leading), shape.at(-1)!]));
  const whole = [...leading, rows.shape[1]];
  return reshape(rows, open && rows.shape[1] > 0 ? whole.with(0, -1) : whole);
}

export const linearAlgebra: OperatorFamily<'Gemm' | 'MatMul'> = {
  MatMul: {
    emit: emitPlain,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [a, b] }, [d]) =>
      d === undefined
        ? []
        : [
            sumToShape(matmul(d, transposedMatrices(b)), a.shape),
            sumToShape(matmul(transposedMatrices(a), d), b.shape),
          ],
  },
  Gemm: {
    emit: (graph, { attributes: { transA, transB } }, inputs, outputs) => {
      graph.node('Gemm', inputs, outputs, { transA: Number(transA), transB: Number(transB) });
    },
    differentiatesBfloat16: true,
    gradient: ({ inputs, attributes: { transA, transB } }, [d]) => {
      if (d === undefined) return [];
      const [a, b, c] = inputs as readonly [Value, Value, Value?];
      const gradientA = transA
        ? gemm(b, d, undefined, { transA: transB, transB: true })
        : gemm(d, b, undefined, { transB: !transB });
      const gradientB = transB
        ? gemm(d, a, undefined, { transA: true, transB: transA })
        : gemm(a, d, undefined, { transA: !transA });
      return [gradientA, gradientB, c && sumToShape(d, c.shape)];
    },
  },
};

/** Swaps the last two axes. */
function transposedMatrices(value: Value): Value {
  const rank = value.shape.length;
  const leading = Array.from({ length: rank - 2 }, (_, axis) => axis);
  return transpose(value, [...leading, rank - 1, rank - 2]);
}

function orient(matrix: Value, transposed: boolean): readonly [rows: number, columns: number] {
  const [rows, columns] = matrix.shape;
  if (!isFloat(matrix) || matrix.shape.length !== 2) {
    throw new ShapeError(`linear: expected matrices of float32, got ${describeType(matrix)}.`);
  }
  return transposed ? [columns, rows] : [rows, columns];
}
