import { where } from '../tensor/combine.ts';
import { ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { cast } from '../ops/elementwise.ts';
import { safeSoftmax } from '../ops/own/safe-softmax.ts';
import { expand, trilu } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { Tensor } from '../tensor/tensor.ts';
import { dropout } from './dropout.ts';

/** Options of {@link scaledDotProductAttention}. */
export interface AttentionOptions {
  /** bool: true where a query may attend to a key. float32: added to the scores. Broadcast to [..., L, S]. Default: none. */
  attnMask?: Tensor | undefined;
  /** Probability of dropping an attention weight; pass 0 in evaluation. Default: 0. */
  dropoutP?: number;
  /** If true, query i attends only to keys 0 to i. Default: `false`. */
  isCausal?: boolean;
  /** Factor applied to the scores. Default: 1/√E. */
  scale?: number | undefined;
}

const attentionOptions: OptionNames<AttentionOptions> = {
  attnMask: true,
  dropoutP: true,
  isCausal: true,
  scale: true,
};

/**
 * softmax(scale·Q·Kᵀ + mask)·V (torch.nn.functional.scaled_dot_product_attention; Vaswani and others, 2017). A query that
 * may attend to no key returns 0 and has gradient 0, as in torch.
 *
 * @param query [..., L, E]
 * @param key [..., S, E]
 * @param value [..., S, Ev]
 * @returns [..., L, Ev]
 */
export function scaledDotProductAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  options: AttentionOptions = {},
): Tensor {
  requireOptions('scaledDotProductAttention', options, attentionOptions);
  return dropout(attentionWeights(query, key, options), options.dropoutP ?? 0).matmul(value);
}

/** softmax(scale·Q·Kᵀ + mask), [..., L, S]; 0 for a query that attends to no key. */
export function attentionWeights(
  query: Tensor,
  key: Tensor,
  { attnMask, isCausal = false, scale }: AttentionOptions,
): Tensor {
  const [length, size] = query.shape.slice(-2);
  if (query.shape.length < 2 || key.shape.length < 2 || key.shape.at(-1) !== size) {
    throw new ShapeError(
      `scaledDotProductAttention: expected a query […,L,E] and a key […,S,E], got ${describeType(query)} and ${describeType(key)}.`,
    );
  }
  if (attnMask) requireMask('scaledDotProductAttention', 'an attnMask', attnMask);
  const scores = query.mul(scale ?? 1 / Math.sqrt(size)).matmul(key.transpose(-2, -1));
  const causal = isCausal ? masked(scores, causalMask(length, key.shape.at(-2)!)) : scores;
  // Without a mask, each query attends at least to the first key.
  return attnMask === undefined
    ? causal.softmax(-1)
    : new Tensor(safeSoftmax(masked(causal, attnMask).value));
}

/** [L, S], bool: true where query i may attend to key j, j ≤ i. */
export function causalMask(length: number, keys: number): Tensor {
  return new Tensor(cast(trilu(expand(constant(1), [length, keys]), 0, false), 'bool'));
}

/** @param what name of the mask, with its article */
export function requireMask(name: string, what: string, mask: Tensor): void {
  if (mask.dtype !== 'int64') return;
  throw new ShapeError(
    `${name}: expected ${what} of bool or float32, got ${describeType(mask)}. Write mask.ne(0) for a mask of bool.`,
  );
}

function masked(scores: Tensor, mask: Tensor): Tensor {
  return mask.dtype === 'bool' ? where(mask, scores, -Infinity) : scores.add(mask);
}
