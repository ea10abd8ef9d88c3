import { isNarrow, roundedOnce } from './rounded-once.ts';
import { autocastValues } from './autocast.ts';
import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError } from '../errors/errors.ts';
import { einsum as einsumOf } from '../ops/einsum.ts';
import * as elementwise from '../ops/elementwise.ts';
import { concat } from '../ops/shape.ts';
import { withSlopes } from '../ops/with-slope.ts';
import { apply, promoted } from './tensor-methods.ts';
import type { Operand } from './tensor-types.ts';
import { Tensor } from './tensor.ts';

/**
 * Concatenates tensors along a dimension (torch.cat). All other dimensions must match; dtypes are promoted as in torch (see
 * {@link Operand}). As in torch, an empty tensor [0] joins tensors of any shape.
 *
 * - `dim`: negative values count from the last dimension. Default: 0.
 */
export function cat(...given: Call<[tensors: readonly Tensor[], dim?: number | undefined], 'cat'>): Tensor {
  const [tensors, dim = 0] = arranged('cat', given);
  requireTensors('cat', tensors);
  const isEmpty = ({ shape }: Tensor) => shape.join() === '0';
  const others = tensors.filter((one) => !isEmpty(one));
  return new Tensor(concat(promoted(...(others.length > 0 ? others : tensors)), dim));
}

/** Stacks tensors of one shape along a new dimension `dim` (torch.stack): two of [3, 4] give [2, 3, 4]. Default: 0. */
export function stack(
  ...given: Call<[tensors: readonly Tensor[], dim?: number | undefined], 'stack'>
): Tensor {
  const [tensors, dim = 0] = arranged('stack', given);
  requireTensors('stack', tensors);
  return cat(
    tensors.map((tensor) => tensor.unsqueeze(dim)),
    dim,
  );
}

/**
 * Expands vectors of n and m elements to two matrices [n, m] of all their pairs (torch.meshgrid with indexing='ij'); likewise
 * for any number of vectors.
 */
export function meshgrid(...given: readonly Tensor[] | readonly [vectors: readonly Tensor[]]): Tensor[] {
  const vectors = tensorsOf('meshgrid', given);
  const shape = vectors.map((vector) => vector.numel());
  return vectors.map((vector, axis) =>
    vector.view(...shape.map((size, other) => (other === axis ? size : 1))).expand(...shape),
  );
}

/**
 * The elements of `a` where the condition is true, else of `b` (torch.where). All three broadcast; dtypes are promoted as in
 * torch (see {@link Operand}).
 *
 * - `condition`: bool
 */
export function where(...given: Call<[condition: Tensor, input: Operand, other: Operand], 'where'>): Tensor {
  const [condition, a, b] = arranged('where', given);
  return new Tensor(apply((left, right) => elementwise.where(condition.value, left, right), a, b));
}

/**
 * Sums of products in Einstein's notation (torch.einsum): `einsum('ij,jk->ik', a, b)` is the product of two matrices. Every
 * letter is a dimension; letters that do not occur after `->` are summed over. `...` stands for leading dimensions that
 * broadcast, and a letter repeated in one operand takes the diagonal. Without `->` the result has the letters that occur once,
 * sorted.
 *
 * @throws ShapeError if the equation does not fit the operands
 */
export function einsum(
  equation: string,
  ...given: readonly Tensor[] | readonly [operands: readonly Tensor[]]
): Tensor {
  if (typeof equation !== 'string') {
    throw new ArgumentError("einsum: expected an equation first. Write einsum('ij,jk->ik', a, b).");
  }
  const operands = tensorsOf('einsum', given);
  if (operands.length === 0) throw new ArgumentError('einsum: expected at least one tensor, got none.');
  const values = operands.map(({ value }) => value);
  return new Tensor(einsumOf(equation, operands.length > 1 ? autocastValues('einsum', values) : values));
}

/**
 * The p-norms of the differences of all pairs of rows (torch.cdist): [..., M, D] and [..., N, D] give [..., M, N]. Default of
 * `p`: 2.
 */
export function cdist(...given: Call<[x1: Tensor, x2: Tensor, p?: number | undefined], 'cdist'>): Tensor {
  const [a, b, p = 2] = arranged('cdist', given);
  const both = autocastValues('cdist', [a.value, b.value] as const).map((one) => new Tensor(one));
  if (isNarrow(...both)) return roundedOnce(both, (x, y) => cdist(x, y, p));
  const [left, right] = both;
  const differences = left.unsqueeze(-2).sub(right.unsqueeze(-3));
  if (p === Infinity) return largestDistances(differences);
  // Unlike `norm`, as in torch: the gradient of an element that is 0 is 0, and the gradient at NaN is NaN.
  if (p < 1) return differences.where(differences.ne(0), 0).norm(p, [-1]);
  if (p !== 1) return differences.norm(p, [-1]);
  const signs = differences.sign().maskedFill(differences.isnan(), NaN);
  return new Tensor(withSlopes(differences.abs().value, [differences.value, signs.value])).sum([-1]);
}

/** Tensors one by one or in a list. */
function tensorsOf(name: string, given: readonly unknown[]): readonly Tensor[] {
  const list: unknown = given.length === 1 && Array.isArray(given[0]) ? given[0] : given;
  requireTensors(name, list);
  return list;
}

function requireTensors(name: string, list: unknown): asserts list is readonly Tensor[] {
  if (Array.isArray(list) && list.every((one) => one instanceof Tensor)) return;
  throw new ArgumentError(`${name}: expected a list of tensors. Write ${usage[name]}.`);
}

const usage: Readonly<Record<string, string>> = {
  cat: 'cat([a, b], dim)',
  stack: 'stack([a, b], dim)',
  meshgrid: 'meshgrid(a, b)',
  einsum: "einsum('ij,jk->ik', a, b)",
};

/** As in torch, equal differences each receive the whole gradient. */
function largestDistances(differences: Tensor): Tensor {
  const distances = differences.abs();
  const largest = distances.detach().amax([-1], true);
  const all = distances.where(distances.eq(largest), 0).sum([-1]);
  return all.sub(all.detach()).add(largest.squeeze(-1));
}
