import { createNode, createValue, type Node, type Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import type { ClipNormAttributes, CollectiveGroup } from '../../graph/attributes.ts';
import type { GraphBuilder } from '../../onnx-format/graph-builder.ts';
import { allGather } from '../collective.ts';
import { refuseGradient, type OperatorFamily } from '../definition.ts';
import { add, cast, div, isNaN, max, min, mul, sqrt } from '../elementwise.ts';
import { abs, pow } from '../functions.ts';
import { gather } from '../table-rows.ts';
import { reduceMax, reduceSum } from '../reduction.ts';
import { reshape } from '../shape.ts';
import { constant, constantTensor } from '../source.ts';

/** The norm of some arrays together, and the factor that scales each of them so that it is at most `largest`: [] each. */
export function clipNorm(
  arrays: readonly Value[],
  largest: Value,
  attributes: ClipNormAttributes,
): { norm: Value; factor: Value } {
  const type = { dtype: 'float32', shape: [] } as const;
  const [norm, factor] = createNode('ClipNorm', [largest, ...arrays], attributes, [type, type]).outputs;
  return { norm, factor };
}

/** An array that holds parts of an array divided between ranks. */
export interface NumberedArray {
  readonly value: Value;
  /** Number of its first part among those of all arrays of all ranks. */
  readonly part: number;
}

/** Like `clipNorm`, for arrays whose `total` parts are divided among the ranks of a group. A collective. */
export function clipNormOfParts(
  { arrays, total, group }: { arrays: readonly NumberedArray[]; total: number; group: CollectiveGroup },
  largest: Value,
  attributes: ClipNormAttributes,
): { norm: Value; factor: Value } {
  const type = { dtype: 'float32', shape: [] } as const;
  const shape = [2 * total];
  const parts = arrays.map(({ part }) => part);
  const own =
    arrays.length === 0
      ? constantTensor(shape, Array<number>(2 * total).fill(0))
      : createValue(
          'NormParts',
          arrays.map(({ value }) => value),
          { normType: attributes.normType, parts, total },
          { dtype: 'float32', shape },
        );
  const inputs = [largest, allGather(own, group)];
  const [norm, factor] = createNode('ClipNormOfParts', inputs, attributes, [type, type]).outputs;
  return { norm, factor };
}

export const normClipping: OperatorFamily<'ClipNorm' | 'NormParts' | 'ClipNormOfParts'> = {
  ClipNorm: {
    plain: ({ inputs: [largest, ...arrays], attributes: { normType, requiresFinite } }) => {
      const norm = normOf(
        arrays.filter(({ shape }) => sizeOf(shape) > 0),
        normType,
      );
      const factor = min(div(largest, add(norm, constant(1e-6))), constant(1));
      return [norm, requiresFinite ? failingUnlessFinite(factor, norm) : factor];
    },
    emit: emitClipping,
    gradient: refuseGradient,
  },
  NormParts: {
    emit: (graph, { attributes: { normType, parts, total } }, inputs, outputs) => {
      graph.ownNode('NormParts', inputs, outputs, { normType: { float: normType }, parts, total });
    },
    gradient: refuseGradient,
  },
  ClipNormOfParts: { emit: emitClipping, gradient: refuseGradient },
};

function emitClipping(
  graph: GraphBuilder,
  { op, attributes: { normType, requiresFinite } }: Node<'ClipNorm' | 'ClipNormOfParts'>,
  inputs: readonly string[],
  outputs: readonly string[],
): void {
  graph.ownNode(op, inputs, outputs, {
    normType: { float: normType },
    requiresFinite: Number(requiresFinite),
  });
}

function normOf(arrays: readonly Value[], p: number): Value {
  const total = (terms: readonly Value[], combine: (a: Value, b: Value) => Value) =>
    terms.reduce((sum, term) => combine(sum, term), constant(0));
  if (p === Infinity)
    return total(
      arrays.map((array) => reduceMax(abs(array))),
      max,
    );
  const powers = arrays.map((array) => reduceSum(p === 2 ? mul(array, array) : pow(abs(array), p)));
  const sum = total(powers, add);
  return p === 2 ? sqrt(sum) : pow(sum, 1 / p);
}

/** Reads beyond the end of a table of one row if the norm is NaN or infinite, which onnxruntime rejects. */
function failingUnlessFinite(factor: Value, norm: Value): Value {
  const row = cast(isNaN(mul(norm, constant(0))), 'int64');
  return reshape(gather(reshape(factor, [1, 1]), row), []);
}
