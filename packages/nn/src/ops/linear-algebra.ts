import { ShapeError } from '../errors.ts';
import { createValue, describeType, type Value } from '../graph/node.ts';
import { sumToShape } from './broadcast.ts';
import { emitPlain, type OperatorFamily } from './definition.ts';
import { transpose } from './shape.ts';

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
      `Gemm: ${describeType(a)}${transA ? ' transposed' : ''} times ${describeType(b)}${transB ? ' transposed' : ''}: ` +
        `the inner dimensions are ${innerA} and ${innerB}, and must be equal.`,
    );
  }
  if (c !== undefined && !(c.dtype === 'float32' && c.shape.length === 1 && c.shape[0] === columns)) {
    throw new ShapeError(`Gemm: a bias of ${describeType(c)} does not fit ${columns} columns.`);
  }
  const inputs = c === undefined ? [a, b] : [a, b, c];
  return createValue('Gemm', inputs, { transA, transB }, { dtype: 'float32', shape: [rows, columns] });
}

/** G products of matrices: [G, M, K] and [G, K, N] give [G, M, N]. */
export function matmul(a: Value, b: Value): Value {
  const [groups, rows, inner] = a.shape;
  const columns = b.shape[2];
  const fits = a.shape.length === 3 && b.shape.length === 3 && b.shape[0] === groups && b.shape[1] === inner;
  if (!fits) {
    throw new ShapeError(
      `MatMul: takes [G,M,K] and [G,K,N], given ${describeType(a)} and ${describeType(b)}.`,
    );
  }
  return createValue('MatMul', [a, b], {}, { dtype: 'float32', shape: [groups, rows, columns] });
}

export const linearAlgebra: OperatorFamily<'Gemm' | 'MatMul'> = {
  MatMul: {
    emit: emitPlain,
    gradient: ({ inputs: [a, b] }, [d]) =>
      d === undefined ? [] : [matmul(d, transpose(b, [0, 2, 1])), matmul(transpose(a, [0, 2, 1]), d)],
  },
  Gemm: {
    emit: (graph, { attributes: { transA, transB } }, inputs, outputs) => {
      graph.node('Gemm', inputs, outputs, { transA: Number(transA), transB: Number(transB) });
    },
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

function orient(matrix: Value, transposed: boolean): readonly [rows: number, columns: number] {
  const [rows, columns] = matrix.shape;
  if (matrix.dtype !== 'float32' || matrix.shape.length !== 2) {
    throw new ShapeError(`Gemm: takes matrices of float32, given ${describeType(matrix)}.`);
  }
  return transposed ? [columns, rows] : [rows, columns];
}
