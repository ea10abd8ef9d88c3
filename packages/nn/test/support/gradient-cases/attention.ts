import type { Value } from '../../../src/graph/node.ts';
import * as elementwise from '../../../src/ops/elementwise.ts';
import { attention, type AttentionInputs } from '../../../src/ops/own/attention.ts';
import { reshape, split, transpose } from '../../../src/ops/shape.ts';
import { constantTensor, number } from '../../../src/ops/source.ts';
import { fill } from '../fill.ts';
import { integers, of, type Cases } from './build.ts';

interface Options extends Partial<AttentionInputs> {
  readonly isCausal?: boolean;
  /** A mask that is trained. */
  readonly trained?: readonly number[];
}

/** Queries [...batch, length, size], keys [...batch, keys, size], values [...batch, keys, valueSize]. */
const heads = (
  batch: readonly number[],
  [length, keys]: readonly [number, number],
  [size, valueSize]: readonly [number, number],
  { isCausal = false, trained, ...options }: Options = {},
) =>
  of(
    (query, key, value, mask) => {
      // Scores of about 3.
      const inputs = { query, key, value, scale: number(3 / Math.sqrt(size)), mask, ...options };
      return [attention(inputs, isCausal)];
    },
    [...batch, length, size],
    [...batch, keys, size],
    [...batch, keys, valueSize],
    ...(trained ? [trained] : []),
  );

/** True for about two thirds of the elements, and for none of row 1 of the last matrix. */
const flags = (...shape: number[]): Value =>
  elementwise.greater(
    constantTensor(
      shape,
      Array.from(fill(shape, 4), (one, i) => (Math.floor(i / shape.at(-1)!) % 5 === 1 ? -1 : one)),
    ),
    constantTensor([], [-0.3]),
  );
const added = (...shape: number[]): Value =>
  constantTensor(
    shape,
    Array.from(fill(shape, 5), (one) => (one < -0.5 ? -Infinity : one)),
  );
const half = [integers(5, 2 ** 31), number(2)] as const;

/** Splits [N, L, parts·heads·size] as transformers do. */
const parted = (joined: Value, parts: number, count: number): readonly Value[] => {
  const [n, length, width] = joined.shape;
  return split(joined, 2, parts).map((part) =>
    transpose(reshape(part, [n, length, count, width / parts / count]), [0, 2, 1, 3]),
  );
};
const merged = (value: Value): Value => {
  const [n, count, length, size] = value.shape;
  return reshape(transpose(value, [0, 2, 1, 3]), [n, length, count * size]);
};

export const attentionCases = {
  Attention: {
    'one query': heads([], [1, 3], [1, 1]),
    'two heads': heads([2], [5, 7], [3, 4]),
    'odd sizes': heads([1], [19, 35], [17, 33]),
    causal: heads([1, 2], [19, 19], [16, 16], { isCausal: true }),
    'causal, longer keys': heads([2], [5, 9], [8, 3], { isCausal: true }),
    'causal, shorter keys': heads([2], [30, 11], [8, 3], { isCausal: true }),
    flags: heads([2, 2], [5, 7], [3, 4], { mask: flags(5, 7) }),
    'flags of keys': heads([2, 2], [5, 7], [3, 4], { mask: flags(2, 1, 1, 7) }),
    'flags of queries': heads([2, 2], [6, 7], [3, 4], { mask: flags(2, 6, 1) }),
    'added numbers and causal': heads([2], [20, 20], [3, 4], { mask: added(2, 20, 20), isCausal: true }),
    'added number': heads([2], [5, 7], [3, 4], { mask: added(1) }),
    'a trained mask': heads([2, 2], [5, 7], [3, 4], { trained: [2, 1, 5, 7] }),
    'a trained mask, causal, dropout': heads([2], [5, 7], [3, 4], {
      trained: [2, 1, 7],
      isCausal: true,
      dropout: half,
    }),
    dropout: heads([2, 3], [5, 20], [5, 2], { dropout: half }),
    'dropout and causal': heads([3], [19, 19], [5, 2], { dropout: half, isCausal: true }),
    'parts of one array': of(
      (joined) => {
        const [query, key, value] = parted(joined, 3, 2);
        return [merged(attention({ query, key, value, scale: number(0.7) }, true))];
      },
      [2, 9, 24],
    ),
    'keys and values of one array': of(
      (x, joined) => {
        const [[query], [key, value]] = [parted(x, 1, 2), parted(joined, 2, 2)];
        return [merged(attention({ query, key, value, scale: number(0.7) }, false))];
      },
      [2, 5, 8],
      [2, 9, 16],
    ),
    'two of three parts': of(
      (joined) => {
        const [query, key] = parted(joined, 3, 2);
        return [merged(attention({ query, key, value: key, scale: number(0.7) }, false))];
      },
      [2, 9, 24],
    ),
    'one array for all': of(
      (x) => [attention({ query: x, key: x, value: x, scale: number(2) }, true)],
      [2, 9, 6],
    ),
    'the batch in the second axis': of(
      (x) => {
        const [query, key, value] = split(x, 2, 3).map((part) =>
          transpose(reshape(part, [7, 2, 2, 4]), [1, 2, 0, 3]),
        );
        const result = attention({ query, key, value, scale: number(0.7) }, false);
        return [reshape(transpose(result, [2, 0, 1, 3]), [7, 2, 8])];
      },
      [7, 2, 24],
    ),
  },
} satisfies Cases;
