import { addRowsTo } from './merge-rows.ts';

/**
 * The gradient of a table of which only some rows have one: `parameter.grad` after a backward pass through
 * `nn.Embedding(…, { sparse: true })` (a sparse COO tensor in torch). The array itself has torch's `values()`, row-major
 * [nnz, D], which may be changed in place. It is valid until the next backward pass.
 */
export class SparseGradient extends Float32Array {
  /** True (torch.Tensor.is_sparse). */
  readonly isSparse = true;
  /** Shape of the dense gradient, [V, D]. */
  readonly shape: readonly [count: number, width: number];
  readonly #indices: Int32Array;

  /** @internal */
  constructor(indices: Int32Array, values: Float32Array, shape: readonly [count: number, width: number]) {
    super(values.buffer as ArrayBuffer, values.byteOffset, values.length);
    this.#indices = indices;
    this.shape = shape;
  }

  /** Copies such as those of `slice` and `map` are plain arrays. */
  static get [Symbol.species](): Float32ArrayConstructor {
    return Float32Array;
  }

  /** Returns this gradient: it has each row once, in increasing order (torch.Tensor.coalesce). */
  coalesce(): this {
    return this;
  }

  /** The rows that have a gradient, in increasing order: [nnz] (torch.Tensor.indices, which is [1, nnz]). */
  indices(): BigInt64Array {
    return BigInt64Array.from(this.#indices, BigInt);
  }

  /** The whole gradient as a new array, row-major [V, D], with zeros in all other rows (torch.Tensor.to_dense). */
  toDense(): Float32Array {
    const [count, width] = this.shape;
    const dense = new Float32Array(count * width);
    addRowsTo(dense, { indices: this.#indices, values: this }, width);
    return dense;
  }
}
