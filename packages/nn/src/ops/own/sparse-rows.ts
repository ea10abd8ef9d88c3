import { isNode, createValue, type Node, type Value } from '../../graph/node.ts';
import { packedLength } from '../../sparse/packed-rows.ts';
import { sizeOf } from '../../value-type.ts';
import { noGradient, type OperatorFamily } from '../definition.ts';
import { add, cast, equal, where } from '../elementwise.ts';
import { concat, expand, reshape } from '../shape.ts';
import { constant, emptyConstant, int64Constant } from '../source.ts';
import { usesOwnOperators } from './enabled.ts';

/** The updates of rows of a table. */
interface RowUpdates {
  /** int64 […]; -1 is left out. */
  readonly rows: Value;
  /** [M, D] */
  readonly updates: Value;
  /** For each row the number of its update (int64), and its factor. Default: update i with factor 1. */
  readonly places?: readonly [sources: Value, factors: Value] | undefined;
}

/**
 * The sums of updates of the rows of a table with `count` rows, as packed rows: the sparse gradient of a lookup.
 *
 * @param capacity number of rows for which there is room. Default: that of all rows.
 */
export function sparseRows({ rows, updates, places }: RowUpdates, count: number, capacity?: number): Value {
  const room = capacity ?? sizeOf(rows.shape);
  const shape = [packedLength(room, updates.shape[1])];
  const attributes = { count, capacity: room, hasPlaces: places !== undefined };
  return createValue('SparseRows', [rows, updates, ...(places ?? [])], attributes, {
    dtype: 'float32',
    shape,
  });
}

/** The sparse gradient of `gather`: updates [...rows, D]. */
export function sparseGradientOfGather(
  rows: Value,
  updates: Value,
  count: number,
  paddingRow?: number,
): Value {
  const kept =
    paddingRow === undefined
      ? rows
      : where(equal(rows, int64Constant([], [paddingRow])), int64Constant([], [-1]), rows);
  const flat = reshape(cast(updates, 'float32'), [sizeOf(rows.shape), updates.shape.at(-1)!]);
  return sparseRows({ rows: kept, updates: flat }, count);
}

/** The sum of two gradients of one leaf, of which each may be sparse: sparse if both are. */
export function sumOfGradients(a: Value, b: Value): Value {
  const [first, second] = [a.node, b.node];
  if (isNode(first, 'SparseRows') && isNode(second, 'SparseRows')) return joined(first, second);
  if (isNode(first, 'SparseRows')) return add(denseGradient(a, b.shape), b);
  return add(a, isNode(second, 'SparseRows') ? denseGradient(b, a.shape) : b);
}

/** The dense form of a gradient that may be sparse. */
export function denseGradient(gradient: Value, shape: readonly number[]): Value {
  return isNode(gradient.node, 'SparseRows') ? denseRows({ packed: gradient }, shape) : gradient;
}

/** The gradient of a table [V, D] of which the loss reads some rows, with room for a number of rows. */
export function withCapacity(
  gradient: Value | undefined,
  [count, width]: readonly number[],
  capacity: number,
): Value {
  if (gradient !== undefined && isNode(gradient.node, 'SparseRows')) {
    return sparseRows(updatesOf(gradient.node), count, capacity);
  }
  const rows = emptyConstant({ dtype: 'int64', shape: [0] });
  return sparseRows(
    { rows, updates: emptyConstant({ dtype: 'float32', shape: [0, width] }) },
    count,
    capacity,
  );
}

/** A sparse gradient: packed rows, and values [capacity, D] in place of theirs, if they were clipped. */
export interface SparseValue {
  readonly packed: Value;
  readonly values?: Value | undefined;
}

/** The values of the packed rows of a table, [capacity, D], with zeros after the last row. */
export function sparseRowValues(packed: Value, [count, width]: readonly number[], capacity: number): Value {
  const type = { dtype: 'float32', shape: [capacity, width] } as const;
  return createValue('SparseRowValues', [packed], { count, width }, type);
}

/** The dense form [V, D] of a sparse gradient. */
export function denseRows({ packed, values }: SparseValue, shape: readonly number[]): Value {
  const [count, width] = shape;
  const inputs = values === undefined ? [packed] : [packed, values];
  return createValue('DenseRows', inputs, { count, width }, { dtype: 'float32', shape });
}

/**
 * Number of rows that a node reads of a leaf whose gradient is sparse; undefined if its gradient is dense.
 *
 * @param leaf an input of the node
 */
export function sparseReads({ op, inputs, attributes }: Node, leaf: Value): number | undefined {
  const isLookup = op === 'Gather' || (op === 'EmbeddingBag' && usesOwnOperators());
  const isSparse = isLookup && 'sparse' in attributes && inputs[0] === leaf;
  return isSparse ? sizeOf(inputs[1].shape) : undefined;
}

/** True if the gradient of a lookup of a table is sparse: it was asked for, and the table is a leaf. */
export function isSparseLookup(node: Node): boolean {
  return isNode(node.inputs[0].node, 'Input') && sparseReads(node, node.inputs[0]) !== undefined;
}

function updatesOf({
  inputs: [rows, updates, sources, factors],
  attributes,
}: Node<'SparseRows'>): RowUpdates {
  return { rows, updates, places: attributes.hasPlaces ? [sources, factors] : undefined };
}

/** The rows of two lookups in one table, those of the first before those of the second. */
function joined(a: Node<'SparseRows'>, b: Node<'SparseRows'>): Value {
  const [first, second] = [updatesOf(a), updatesOf(b)];
  const { count } = a.attributes;
  const rows = concat([flat(first.rows), flat(second.rows)], 0);
  const updates = concat([first.updates, second.updates], 0);
  if (!first.places && !second.places) return sparseRows({ rows, updates }, count);
  const [sourcesA, factorsA] = placesOf(first);
  const [sourcesB, factorsB] = placesOf(second);
  const shifted = add(sourcesB, int64Constant([], [first.updates.shape[0]]));
  const places = [concat([sourcesA, shifted], 0), concat([factorsA, factorsB], 0)] as const;
  return sparseRows({ rows, updates, places }, count);
}

function placesOf({ rows, places }: RowUpdates): readonly [sources: Value, factors: Value] {
  if (places) return [flat(places[0]), flat(places[1])];
  const count = sizeOf(rows.shape);
  return [
    int64Constant(
      [count],
      Array.from({ length: count }, (_, i) => i),
    ),
    expand(constant(1), [count]),
  ];
}

function flat(value: Value): Value {
  return reshape(value, [sizeOf(value.shape)]);
}

export const sparseGradients: OperatorFamily<'SparseRows' | 'SparseRowValues' | 'DenseRows'> = {
  SparseRows: {
    emit: (graph, { attributes: { count, capacity } }, inputs, outputs) => {
      graph.ownNode('SparseRows', inputs, outputs, { count, capacity });
    },
    gradient: noGradient,
  },
  SparseRowValues: {
    emit: (graph, { attributes }, inputs, outputs) => {
      graph.ownNode('SparseRowValues', inputs, outputs, attributes);
    },
    gradient: noGradient,
  },
  DenseRows: {
    emit: (graph, { attributes }, inputs, outputs) => {
      graph.ownNode('DenseRows', inputs, outputs, attributes);
    },
    gradient: noGradient,
  },
};
