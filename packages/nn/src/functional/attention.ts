import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { isTracingSizes } from '../graph/size-tracing.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { broadcastShape } from '../ops/broadcast.ts';
import { attention, attentionWeights as weightsOf, type AttentionInputs } from '../ops/own/attention.ts';
import { usesOwnOperators } from '../ops/own/enabled.ts';
import { promotedFloat } from '../ops/promotion.ts';
import { expand } from '../ops/shape.ts';
import { number } from '../ops/source.ts';
import { Tensor } from '../tensor/tensor.ts';
import { dropout, maskValues, requireProbability } from './dropout.ts';

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
  /**
   * If true, consecutive heads of the query share a head of key and value (grouped-query attention): dimension −3 of the query
   * is a multiple of theirs. Default: `false`.
   */
  enableGqa?: boolean;
}

/**
 * softmax(scale·Q·Kᵀ + mask)·V (torch.nn.functional.scaled_dot_product_attention; Vaswani and others, 2017). A query that
 * may attend to no key returns 0 and has gradient 0, as in torch.
 *
 * The weights are computed in parts and not kept (Dao, "FlashAttention-2", 2023), so memory grows linearly with L and S.
 * Only the gradient of an `attnMask` that is trained needs all of them.
 *
 * - `query`: [..., L, E]
 * - `key`: [..., S, E]
 * - `value`: [..., S, Ev]
 * @returns [..., L, Ev]
 */
export function scaledDotProductAttention(
  ...given: Call<
    [query: Tensor, key: Tensor, value: Tensor, options?: AttentionOptions | undefined],
    'F.scaledDotProductAttention'
  >
): Tensor {
  const [query, key, value, options] = arranged('F.scaledDotProductAttention', given);
  const { dropoutP = 0, isCausal = false, enableGqa = false, ...others } = options;
  requireProbability('scaledDotProductAttention', dropoutP);
  if (enableGqa) {
    const [keys, values] = [key, value].map((shared) => repeatedHeads(query, shared));
    return scaledDotProductAttention(query, keys, values, { dropoutP, isCausal, ...others });
  }
  const [q, k, v, attnMask] = autocastTensors(
    'scaledDotProductAttention',
    query,
    key,
    value,
    options.attnMask,
  );
  const inputs = { ...checkedInputs(q, k, { ...options, attnMask }), value: v.value };
  const operands = usesOwnOperators() && !isTracingSizes() && dropoutP < 1 ? together(inputs) : undefined;
  if (operands === undefined) {
    const result = dropout(new Tensor(weightsOf(inputs, isCausal)), dropoutP).matmul(v);
    return result.to(promotedFloat(q.value, k.value, v.value));
  }
  return new Tensor(attention({ ...operands, dropout: maskValues(dropoutP) }, isCausal));
}

/** Each head as often as the query has heads for it. */
function repeatedHeads(query: Tensor, shared: Tensor): Tensor {
  const [heads, given] = [query, shared].map(({ shape }) => (shape.length > 2 ? shape.at(-3)! : 0));
  if (!(given > 0 && heads % given === 0)) {
    throw new ShapeError(
      'scaledDotProductAttention: expected a query whose heads (dimension -3) are a multiple of those of key and value with ' +
        `enableGqa, got ${describeType(query)} and ${describeType(shared)}.`,
    );
  }
  return heads === given ? shared : shared.repeatInterleave(heads / given, -3);
}

/** softmax(scale·Q·Kᵀ + mask), [..., L, S]; 0 for a query that attends to no key. */
export function attentionWeights(query: Tensor, key: Tensor, options: AttentionOptions): Tensor {
  return new Tensor(weightsOf(checkedInputs(query, key, options), options.isCausal ?? false));
}

function checkedInputs(
  query: Tensor,
  key: Tensor,
  { attnMask, scale }: AttentionOptions,
): Omit<AttentionInputs, 'value' | 'dropout'> {
  const size = query.shape.at(-1)!;
  if (query.shape.length < 2 || key.shape.length < 2 || key.shape.at(-1) !== size) {
    throw new ShapeError(
      `scaledDotProductAttention: expected a query […,L,E] and a key […,S,E], got ${describeType(query)} and ${describeType(key)}.`,
    );
  }
  if (attnMask) requireMask('scaledDotProductAttention', 'an attnMask', attnMask);
  return {
    query: query.value,
    key: key.value,
    scale: number(scale ?? 1 / Math.sqrt(size)),
    mask: attnMask?.value,
  };
}

/** The operands with equal batch dimensions, or undefined if the operator does not apply: for errors and empty arrays. */
function together(inputs: Omit<AttentionInputs, 'dropout'>): Omit<AttentionInputs, 'dropout'> | undefined {
  const { query, key, value, mask } = inputs;
  const operands = [query, key, value];
  const areMatrices = operands.every((one) => isFloat(one) && one.shape.length >= 2);
  if (!areMatrices || key.shape.at(-2) !== value.shape.at(-2)) return undefined;
  const scores = [query.shape.at(-2)!, key.shape.at(-2)!];
  const fits = mask === undefined || fitsTo(mask.shape.slice(-2), scores);
  if (!fits || operands.some(({ shape }) => sizeOf(shape) === 0)) return undefined;
  const batches = [...operands, ...(mask ? [mask] : [])].map((one) => ({
    ...one,
    shape: one.shape.slice(0, -2),
  }));
  const batch = batches.reduce((a, b) => ({
    ...a,
    shape: broadcastShape('scaledDotProductAttention', a, b),
  })).shape;
  const expanded = (one: Value) => expand(one, [...batch, ...one.shape.slice(-2)]);
  return { ...inputs, query: expanded(query), key: expanded(key), value: expanded(value) };
}

/** True if a shape broadcasts to another without changing it. */
function fitsTo(shape: readonly number[], to: readonly number[]): boolean {
  return shape.every((size, axis) => size === 1 || size === to[axis + to.length - shape.length]);
}

/** @param what name of the mask, with its article */
export function requireMask(name: string, what: string, mask: Tensor): void {
  if (mask.dtype !== 'int64') return;
  throw new ShapeError(
    `${name}: expected ${what} of bool or float32, got ${describeType(mask)}. Write mask.ne(0) for a mask of bool.`,
  );
}
