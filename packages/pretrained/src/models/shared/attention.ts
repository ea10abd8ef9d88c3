import { InvalidArgumentError } from '@ringrun/core';
import { F, type Tensor } from '@ringrun/nn';

/** How heads attend. */
export interface AttentionSettings {
  /** Number of heads, which divides the width. */
  heads: number;
  /** bool [N, 1, 1, S]: true for keys that are no padding. Default: none is. */
  mask: Tensor | undefined;
  /** Probability of dropping an attention weight; 0 in evaluation. */
  dropoutP: number;
  /** If true, a token attends to itself and those before it. Default: false. */
  isCausal?: boolean;
  /** Factor of the scores. Default: 1/√(width of a head). */
  scale?: number | undefined;
}

/** Attention of several heads: query, key and value [N, S, width] to [N, S, width]. */
export function attend(
  [query, key, value]: readonly Tensor[],
  { heads, mask, dropoutP, isCausal = false, scale }: AttentionSettings,
): Tensor {
  const [n, length, width] = query.shape;
  const byHead = (one: Tensor) => one.view(n, length, heads, width / heads).transpose(1, 2);
  const attended = F.scaledDotProductAttention(byHead(query), byHead(key), byHead(value), {
    attnMask: mask,
    dropoutP,
    isCausal,
    scale,
  });
  return attended.transpose(1, 2).view(n, length, width);
}

/**
 * The mask of a batch of padded texts for `attend`.
 *
 * @param attentionMask int64 or bool [N, S]: 1 for tokens, 0 for padding. Default: no padding.
 */
export function paddingMask(
  who: string,
  attentionMask: Tensor | undefined,
  [n, length]: readonly number[],
): Tensor | undefined {
  if (attentionMask === undefined) return undefined;
  const { shape, dtype } = attentionMask;
  if (shape.length !== 2 || shape[0] !== n || shape[1] !== length) {
    throw new InvalidArgumentError(
      `${who}: expected an attention mask [${n}, ${length}] as the input ids, got [${shape.join(', ')}].`,
    );
  }
  return (dtype === 'bool' ? attentionMask : attentionMask.ne(0)).view(n, 1, 1, length);
}

/** @throws InvalidArgumentError unless the width is a multiple of the number of heads */
export function requireHeads(who: string, width: number, heads: number): void {
  if (width % heads === 0) return;
  throw new InvalidArgumentError(
    `config of ${who}: expected a width that is a multiple of the number of attention heads, got ${width} and ${heads}.`,
  );
}
