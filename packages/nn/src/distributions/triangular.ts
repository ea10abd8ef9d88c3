import { cat } from '../tensor/combine.ts';
import { eye } from '../tensor/creation.ts';
import type { Tensor } from '../tensor/tensor.ts';

// Factorizations of matrices [..., N, N], unrolled over their columns: the graph grows by some operations for each of them, which
// suits the few dimensions of a distribution. They are made of other operations, so that they have gradients.

/** The lower triangular L with L·Lᵀ = A of a positive definite A (torch.linalg.cholesky). NaN for other matrices. */
export function cholesky(matrix: Tensor): Tensor {
  const size = matrix.shape.at(-1)!;
  const columns: Tensor[] = [];
  for (let j = 0; j < size; j += 1) {
    let column = matrix.narrow(-1, j, 1).narrow(-2, j, size - j);
    if (j > 0) {
      const left = cat(columns, -1).narrow(-2, j, size - j);
      column = column.sub(left.matmul(left.narrow(-2, 0, 1).transpose(-1, -2)));
    }
    const below = column.div(column.narrow(-2, 0, 1).sqrt());
    columns.push(j === 0 ? below : cat([matrix.narrow(-1, j, 1).narrow(-2, 0, j).mul(0), below], -2));
  }
  return cat(columns, -1);
}

/** The inverse of a lower triangular matrix, by forward substitution. */
export function inverseOfTriangular(matrix: Tensor): Tensor {
  const size = matrix.shape.at(-1)!;
  const identity = eye(size);
  let rows: Tensor | undefined;
  for (let j = 0; j < size; j += 1) {
    const row = matrix.narrow(-2, j, 1);
    const unit = identity.narrow(0, j, 1);
    const rest = rows === undefined ? unit : unit.sub(row.narrow(-1, 0, j).matmul(rows));
    const solved = rest.div(row.narrow(-1, j, 1));
    rows = rows === undefined ? solved : cat([rows, solved], -2);
  }
  return rows!;
}
