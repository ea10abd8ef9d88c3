import { createNode, sizeOf, type Value } from '../../graph/node.ts';
import type { BagMode, EmbeddingBagAttributes } from '../../graph/operators.ts';
import { noGradient, type OperatorFamily } from '../definition.ts';
import { and, cast, div, equal, greater, greaterOrEqual, max, mul, not, where } from '../elementwise.ts';
import { gather } from '../indexing.ts';
import { matmul } from '../linear-algebra.ts';
import { reduceMax, reduceSum } from '../reduction.ts';
import { concat, expand, reshape, slice } from '../shape.ts';
import { constant, int64Constant } from '../source.ts';

/** Bags of rows of a table. */
export interface Bags {
  /** [V, D] */
  readonly table: Value;
  /** int64: [T] with offsets, else [B, L]. */
  readonly rows: Value;
  /** Where each bag begins, int64 [B], from 0. */
  readonly offsets?: Value | undefined;
  /** Of the shape of `rows`, for the sum. Default: 1. */
  readonly weights?: Value | undefined;
  readonly mode: BagMode;
  /** Is left out, and gets no gradient. */
  readonly paddingRow?: number | undefined;
}

/** The sum, mean or maximum of the rows of each bag, [B, D]; 0 for a bag without rows. */
export function embeddingBag({ table, rows, offsets, weights, mode, paddingRow }: Bags): Value {
  const [count] = (offsets ?? rows).shape;
  const shape = [count, table.shape[1]];
  return createNode(
    'EmbeddingBag',
    [table, rows, offsets, weights].filter((input) => input !== undefined),
    {
      mode,
      hasOffsets: offsets !== undefined,
      hasWeights: weights !== undefined,
      ...(paddingRow !== undefined && { paddingRow }),
    },
    [{ dtype: 'float32', shape }, ...(mode === 'max' ? [{ dtype: 'int64', shape } as const] : [])],
  ).outputs[0];
}

export const embeddingBags: OperatorFamily<'EmbeddingBag' | 'EmbeddingBagGradient'> = {
  EmbeddingBag: {
    plain: ({ inputs: [table, rows, ...options], attributes }) => {
      const [offsets, weights] = withPlaces(options, attributes);
      const { mode, paddingRow } = attributes;
      return [plainBags({ table, rows, offsets, weights, mode, paddingRow })];
    },
    emit: (graph, { attributes }, [table, rows, ...options], outputs) => {
      const places = withPlaces(options, attributes).map((name) => name ?? '');
      graph.ownNode('EmbeddingBag', [table, rows, ...places], outputs, codes(attributes));
    },
    gradient: ({ inputs: [table, rows, ...options], outputs: [, winners], attributes }, [d]) => {
      if (d === undefined) return [];
      const [offsets, weights] = withPlaces(options, attributes);
      const inputs = [d, rows, table, ...options, winners].filter((input) => input !== undefined);
      const types = [table, ...(weights ? [weights] : [])];
      const [dTable, dWeights] = createNode('EmbeddingBagGradient', inputs, attributes, types).outputs;
      return [dTable, undefined, ...(offsets ? [undefined] : []), ...(weights ? [dWeights] : [])];
    },
  },
  EmbeddingBagGradient: {
    emit: (graph, { attributes }, [d, rows, table, ...rest], outputs) => {
      const places = withPlaces(rest, attributes).map((name) => name ?? '');
      const winners = attributes.mode === 'max' ? rest.at(-1)! : '';
      graph.ownNode('EmbeddingBagGradient', [d, rows, table, ...places, winners], outputs, codes(attributes));
    },
    gradient: noGradient,
  },
};

/** The rows of all bags times a matrix that says which bag has which row; of the maximum, all rows for every bag. */
function plainBags({ table, rows, offsets, weights, mode, paddingRow }: Bags): Value {
  const total = sizeOf(rows.shape);
  const [count] = (offsets ?? rows).shape;
  if (total === 0) return expand(constant(0), [count, table.shape[1]]);
  const flat = reshape(rows, [total]);
  const all = gather(table, flat);
  const isIn = membership(flat, offsets ?? evenOffsets(rows.shape), paddingRow);
  if (mode === 'max') {
    const candidates = where(
      reshape(isIn, [count, total, 1]),
      reshape(all, [1, ...all.shape]),
      constant(-3.4e38),
    );
    const isEmpty = not(cast(reduceMax(cast(isIn, 'float32'), [1], true), 'bool'));
    return where(isEmpty, constant(0), reduceMax(candidates, [1]));
  }
  const members = cast(isIn, 'float32');
  const sums = matmul(weights ? mul(members, reshape(weights, [1, total])) : members, all);
  return mode === 'sum' ? sums : div(sums, max(reduceSum(members, [1], true), constant(1)));
}

/** [B, T], bool: whether a bag has a row. */
function membership(rows: Value, offsets: Value, paddingRow: number | undefined): Value {
  const [total] = rows.shape;
  const [count] = offsets.shape;
  const places = int64Constant(
    [1, total],
    Array.from({ length: total }, (_, place) => place),
  );
  const ends = concat([slice(offsets, 0, 1, count), int64Constant([1], [total])], 0);
  const isIn = and(
    greaterOrEqual(places, reshape(offsets, [count, 1])),
    greater(reshape(ends, [count, 1]), places),
  );
  if (paddingRow === undefined) return isIn;
  return and(isIn, not(equal(reshape(rows, [1, total]), int64Constant([], [paddingRow]))));
}

function evenOffsets([count, length]: readonly number[]): Value {
  return int64Constant(
    [count],
    Array.from({ length: count }, (_, bag) => bag * length),
  );
}

const modeCodes: Readonly<Record<BagMode, number>> = { sum: 0, mean: 1, max: 2 };

function codes({ mode, paddingRow = -1 }: EmbeddingBagAttributes): { mode: number; padding: number } {
  return { mode: modeCodes[mode], padding: paddingRow };
}

/** The offsets and the weights, undefined if a node does not have them. */
function withPlaces<T>(
  options: readonly T[],
  { hasOffsets, hasWeights }: EmbeddingBagAttributes,
): readonly [offsets: T | undefined, weights: T | undefined] {
  return [hasOffsets ? options[0] : undefined, hasWeights ? options[Number(hasOffsets)] : undefined];
}
