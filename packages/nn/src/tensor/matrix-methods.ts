import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { roundedOnce } from './rounded-once.ts';
import { autocastValues } from './autocast.ts';
import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { normalizeAxis } from '../ops/axes.ts';
import * as elementwise from '../ops/elementwise.ts';
import { indexSelect } from '../ops/indexing.ts';
import { torchMatmul } from '../ops/linear-algebra.ts';
import { flatten, pad, reshape, slice, transpose, unsqueeze } from '../ops/shape.ts';
import { RandomMethods } from './random-methods.ts';
import { promoted } from './tensor-methods.ts';

/** Matrices and vectors. */
export abstract class MatrixMethods<Tensor extends MatrixMethods<Tensor>> extends RandomMethods<Tensor> {
  /**
   * Matrix product (torch.matmul): [M, K] and [K, N] give [M, N]; leading dimensions broadcast. A vector on the left is treated
   * as a row, a vector on the right as a column; the result omits its dimension.
   */
  matmul(...given: Call<[other: Tensor], 'x.matmul'>): Tensor {
    const [other] = arranged('x.matmul', given);
    return this.of(torchMatmul(...autocastValues('matmul', [this.value, other.value] as const)));
  }

  /** Product of two matrices (torch.mm): [M, K] and [K, N] give [M, N]. */
  mm(...given: Call<[mat2: Tensor], 'x.mm'>): Tensor {
    const [other] = arranged('x.mm', given);
    const [a, b] = autocastValues('mm', [this.value, other.value] as const);
    return this.of(product('mm', a, b, 2, 2));
  }

  /** Products of two batches of matrices (torch.bmm): [B, M, K] and [B, K, N] give [B, M, N]. */
  bmm(...given: Call<[mat2: Tensor], 'x.bmm'>): Tensor {
    const [other] = arranged('x.bmm', given);
    const [a, b] = autocastValues('bmm', [this.value, other.value] as const);
    return this.of(product('bmm', a, b, 3, 3));
  }

  /** Product of a matrix and a vector (torch.mv): [M, K] and [K] give [M]. */
  mv(...given: Call<[vec: Tensor], 'x.mv'>): Tensor {
    const [vector] = arranged('x.mv', given);
    return this.of(product('mv', this.value, vector.value, 2, 1));
  }

  /** Sum of the products of two vectors' elements (torch.dot). */
  dot(...given: Call<[other: Tensor], 'x.dot'>): Tensor {
    const [other] = arranged('x.dot', given);
    return this.of(product('dot', this.value, other.value, 1, 1));
  }

  /** Products of all pairs of two vectors' elements (torch.outer): [M] and [N] give [M, N]. */
  outer(...given: Call<[vec2: Tensor], 'x.outer'>): Tensor {
    const [other] = arranged('x.outer', given);
    if (this.value.shape.length !== 1 || other.shape.length !== 1)
      throw rejected('outer', this.value, other.value, 'two vectors');
    const [a, b] = promoted(this, other);
    return this.of(elementwise.mul(unsqueeze(a, 1), unsqueeze(b, 0)));
  }

  /** beta·x + alpha·a·b for matrices (torch.addmm); x broadcasts. Defaults: `beta` 1, `alpha` 1. */
  addmm(a: Tensor, b: Tensor, { beta = 1, alpha = 1 }: ProductScales = {}): Tensor {
    return this.#scaledSum('addmm', 2, a, b, beta, alpha);
  }

  /** beta·x + alpha·a·b for batches of matrices (torch.baddbmm); x broadcasts. Defaults: `beta` 1, `alpha` 1. */
  baddbmm(a: Tensor, b: Tensor, { beta = 1, alpha = 1 }: ProductScales = {}): Tensor {
    return this.#scaledSum('baddbmm', 3, a, b, beta, alpha);
  }

  /** beta·x + alpha·a·b, rounded once. As in torch, NaN and infinities of x are ignored if beta is 0. */
  #scaledSum(
    name: 'addmm' | 'baddbmm',
    rank: number,
    a: Tensor,
    b: Tensor,
    beta: number,
    alpha: number,
  ): Tensor {
    const given = autocastValues(name, [this.value, a.value, b.value]).map((value) => this.of(value));
    return roundedOnce(given, (x, left, right) => {
      const multiplied = this.of(product(name, left.value, right.value, rank, rank));
      const scaled = alpha === 1 ? multiplied : multiplied.mul(alpha);
      const sum = scaled.add(beta === 1 ? x : x.mul(beta));
      return beta === 0 ? scaled.expand(...sum.shape) : sum;
    });
  }

  /** Transposes the last two dimensions (torch.Tensor.mT). */
  get mT(): Tensor {
    const rank = this.value.shape.length;
    if (rank < 2)
      throw new ShapeError(`mT: expected at least 2 dimensions, got ${describeType(this.value)}.`);
    const order = [...this.value.shape.keys()];
    return this.of(transpose(this.value, [...order.slice(0, -2), rank - 1, rank - 2]));
  }

  /**
   * Elements whose positions in two dimensions differ by `offset`, as a new last dimension (torch.diagonal): [2, 3, 3] with
   * (0, 1, 2) gives [2, 3].
   *
   * - `offset`: above 0: above the main diagonal. Default: 0.
   */
  diagonal(
    ...given: Call<
      [offset?: number | undefined, dim1?: number | undefined, dim2?: number | undefined],
      'x.diagonal'
    >
  ): Tensor {
    const [offset = 0, dim1 = 0, dim2 = 1] = arranged('x.diagonal', given);
    const rows = normalizeAxis('diagonal', dim1, this.value);
    const columns = normalizeAxis('diagonal', dim2, this.value);
    if (rows === columns || !Number.isInteger(offset)) {
      throw new ShapeError(
        `diagonal: expected two dimensions and a whole offset, got ${dim1}, ${dim2} and ${offset}.`,
      );
    }
    const { shape } = this.value;
    const others = [...shape.keys()].filter((axis) => axis !== rows && axis !== columns);
    const last = flatten(transpose(this.value, [...others, rows, columns]), others.length, -1);
    const [first, width] = [Math.max(0, -offset), shape[columns]];
    const length = Math.max(0, Math.min(shape[rows] - first, width - Math.max(0, offset)));
    const positions = Array.from({ length }, (_, i) => (first + i) * width + Math.max(0, offset) + i);
    return this.of(indexSelect(last, others.length, positions));
  }

  /** The diagonal of a matrix, or a matrix with this vector as its diagonal and zeros elsewhere (torch.diag). */
  diag(...given: Call<[diagonal?: number | undefined], 'x.diag'>): Tensor {
    const [offset = 0] = arranged('x.diag', given);
    const { shape } = this.value;
    if (shape.length === 2) return this.diagonal(offset);
    if (shape.length !== 1) {
      throw new ShapeError(`diag: expected 1 or 2 dimensions, got ${describeType(this.value)}.`);
    }
    const size = shape[0] + Math.abs(offset);
    const start = offset >= 0 ? offset : -offset * size;
    // Row-major, two neighbours on a diagonal are size + 1 elements apart.
    const spread = flatten(pad(unsqueeze(this.value, 1), [0, 0], [0, size]), 0, -1);
    const missing = Math.max(0, size * size - start - spread.shape[0]);
    const elements = slice(pad(spread, [start], [missing]), 0, 0, size * size);
    return this.of(reshape(elements, [size, size]));
  }

  /** Sum of a matrix's diagonal (torch.trace). */
  trace(): Tensor {
    if (this.value.shape.length !== 2) {
      throw new ShapeError(`trace: expected a matrix, got ${describeType(this.value)}.`);
    }
    const [x] = autocastValues('trace', [this.value] as const);
    return this.of(x).diagonal().sum();
  }
}

function product(op: string, a: Value, b: Value, rank: number, otherRank: number): Value {
  if (a.shape.length !== rank || b.shape.length !== otherRank) {
    throw rejected(op, a, b, `${rank} and ${otherRank} dimensions`);
  }
  if (rank === 3 && a.shape[0] !== b.shape[0]) throw rejected(op, a, b, 'the same number of matrices');
  return torchMatmul(a, b);
}

function rejected(op: string, a: Value, b: Value, expected: string): ShapeError {
  return new ShapeError(
    `${op}: expected ${expected}, got ${describeType(a)} and ${describeType(b)}. matmul accepts other shapes.`,
  );
}

/** Options of `addmm` and `baddbmm`. */
export interface ProductScales {
  /** Factor of the tensor that is added. Default: 1. */
  beta?: number;
  /** Factor of the product. Default: 1. */
  alpha?: number;
}
