import { createNode, type Node, type Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import type { BagMode, EmbeddingBagAttributes } from '../../graph/attributes.ts';
import { noGradient, type OperatorFamily } from '../definition.ts';
import { and, cast, div, equal, greater, greaterOrEqual, max, mul, not, where } from '../elementwise.ts';
import { gather } from '../table-rows.ts';
import { reduceMax, reduceSum } from '../reduction.ts';
import { concat, expand, reshape, slice } from '../shape.ts';
import { constant, int64Constant } from '../source.ts';
import { isSparseLookup, sparseRows } from './sparse-rows.ts';

/** Bags of rows of a table. */
export interface Bags {
  /** [V, D] */
  readonly table: Value;
  /** int64: [T] with offsets, else [B, L]. */
  readonly rows: Value;
  /** Start of each bag, int64 [B], from 0. */
  readonly offsets?: Value | undefined;
  /** Weights of the shape of `rows`, only for the sum. Default: 1. */
  readonly weights?: Value | undefined;
  readonly mode: BagMode;
  /** Row that is left out and receives no gradient. */
  readonly paddingRow?: number | undefined;
  /** True if the gradient of the table consists of the rows of the bags; not for the maximum. Default: false. */
  readonly sparse?: boolean;
}

/** The sum, mean or maximum of the rows of each bag, [B, D]; 0 for a bag without rows. */
export function embeddingBag({
  table,
  rows,
  offsets,
  weights,
  mode,
  paddingRow,
  sparse = false,
}: Bags): Value {
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
      ...(sparse && { sparse }),
    },
    [{ dtype: table.dtype, shape }, ...(mode === 'max' ? [{ dtype: 'int64', shape } as const] : [])],
  ).outputs[0];
}

export const embeddingBags: OperatorFamily<'EmbeddingBag' | 'EmbeddingBagGradient' | 'BagPlaces'> = {
  EmbeddingBag: {
    plain: ({ inputs: [table, rows, ...options], attributes }) => {
      const [offsets, weights] = withPlaces(options, attributes);
      const { mode, paddingRow } = attributes;
      return [plainBags({ table, rows, offsets, weights, mode, paddingRow })];
    },
    emit: (graph, { attributes }, [table, rows, ...options], outputs) => {
      const places = withPlaces(options, attributes).map((name) => name ?? '');
      const inputs = [table, rows, ...places];
      graph.ownNode('EmbeddingBag', inputs, outputs, codes(attributes), 'embeddingBag: ');
    },
    omits: [1],
    gradient: (node, [d]) => {
      if (d === undefined) return [];
      const {
        inputs: [table, rows, ...options],
        outputs,
        attributes,
      } = node;
      const [offsets, weights] = withPlaces(options, attributes);
      const inputs = [d, rows, table, ...options, ...outputs.slice(1)];
      const types = [table, ...(weights ? [weights] : [])];
      const [dDense, dWeights] = createNode('EmbeddingBagGradient', inputs, attributes, types).outputs;
      const dTable = isSparseLookup(node) ? sparseGradient(node, d) : dDense;
      return [dTable, undefined, ...(offsets ? [undefined] : []), ...(weights ? [dWeights] : [])];
    },
  },
  EmbeddingBagGradient: {
    emit: (graph, { attributes }, [d, rows, table, ...rest], outputs) => {
      const places = withPlaces(rest, attributes).map((name) => name ?? '');
      const winners = attributes.mode === 'max' ? rest.at(-1)! : '';
      graph.ownNode('EmbeddingBagGradient', [d, rows, table, ...places, winners], outputs, codes(attributes));
    },
    omits: [0, 1],
    adjoint: ({ inputs: [d, rows, table, ...rest], attributes }) => {
      const { hasOffsets, hasWeights } = attributes;
      const options = rest.slice(0, Number(hasOffsets) + Number(hasWeights));
      return {
        of: createNode('EmbeddingBag', [table, rows, ...options], attributes, [d]),
        gradients: [d],
        positions: [0, 2 + Number(hasOffsets)].slice(0, 1 + Number(hasWeights)),
      };
    },
    gradient: 'ofPlain',
  },
  BagPlaces: {
    emit: (graph, { attributes }, [rows, ...options], outputs) => {
      const places = withPlaces(options, attributes).map((name) => name ?? '');
      const { count } = attributes;
      graph.ownNode('BagPlaces', [rows, ...places], outputs, { ...codes(attributes), count });
    },
    gradient: noGradient,
  },
};

/** The rows of the table of sums or means, from the gradient of the bags. */
function sparseGradient(
  { inputs: [{ shape }, rows, ...options], attributes }: Node<'EmbeddingBag'>,
  d: Value,
): Value {
  const [count] = shape;
  const [kept, bags, factors] = createNode('BagPlaces', [rows, ...options], { ...attributes, count }, [
    rows,
    rows,
    { dtype: 'float32', shape: rows.shape },
  ]).outputs;
  return sparseRows({ rows: kept, updates: d, places: [bags, factors] }, count);
}

/** A mask [B, …, 1] of the rows that each bag has, among all that it may have, [B, L, D] or [1, T, D]. */
function plainBags({ table, rows, offsets, weights, mode, paddingRow }: Bags): Value {
  const [count] = (offsets ?? rows).shape;
  if (sizeOf(rows.shape) === 0) return expand(constant(0), [count, table.shape[1]]);
  const places = offsets ? [1, ...rows.shape] : rows.shape;
  const all = gather(table, reshape(rows, places));
  const isIn = reshape(membership(rows, offsets, paddingRow), [count, places[1], 1]);
  const members = cast(isIn, 'float32');
  if (mode === 'max') {
    const largest = reduceMax(where(isIn, all, constant(-3.4e38)), [1]);
    return mul(largest, reduceMax(members, [1]));
  }
  const sums = reduceSum(mul(all, weights ? mul(members, reshape(weights, [...places, 1])) : members), [1]);
  return mode === 'sum' ? sums : div(sums, max(reduceSum(members, [1]), constant(1)));
}

/** [B, L] or [B, T], bool: true where a bag has a row. */
function membership(rows: Value, offsets: Value | undefined, paddingRow: number | undefined): Value {
  const isWord =
    paddingRow === undefined ? equal(rows, rows) : not(equal(rows, int64Constant([], [paddingRow])));
  if (!offsets) return isWord;
  const [total] = rows.shape;
  const [count] = offsets.shape;
  const places = int64Constant(
    [1, total],
    Array.from({ length: total }, (_, place) => place),
  );
  const ends = concat([slice(offsets, 0, 1, count), int64Constant([1], [total])], 0);
  const isBetween = and(
    greaterOrEqual(places, reshape(offsets, [count, 1])),
    greater(reshape(ends, [count, 1]), places),
  );
  return and(isBetween, reshape(isWord, [1, total]));
}

const modeCodes: Readonly<Record<BagMode, number>> = { sum: 0, mean: 1, max: 2 };

function codes({ mode, paddingRow = -1 }: EmbeddingBagAttributes): { mode: number; padding: number } {
  return { mode: modeCodes[mode], padding: paddingRow };
}

/** The offsets and the weights, undefined if the node lacks them. */
function withPlaces<T>(
  options: readonly T[],
  { hasOffsets, hasWeights }: EmbeddingBagAttributes,
): readonly [offsets: T | undefined, weights: T | undefined] {
  return [hasOffsets ? options[0] : undefined, hasWeights ? options[Number(hasOffsets)] : undefined];
}
