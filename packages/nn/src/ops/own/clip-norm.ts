import { createNode, sizeOf, type Value } from '../../graph/node.ts';
import type { ClipNormAttributes } from '../../graph/operators.ts';
import { noGradient, type OperatorFamily } from '../definition.ts';
import { add, cast, div, isNaN, max, min, mul, sqrt } from '../elementwise.ts';
import { abs, pow } from '../functions.ts';
import { gather } from '../indexing.ts';
import { reduceMax, reduceSum } from '../reduction.ts';
import { reshape } from '../shape.ts';
import { constant } from '../source.ts';

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

export const normClipping: OperatorFamily<'ClipNorm'> = {
  ClipNorm: {
    plain: ({ inputs: [largest, ...arrays], attributes: { normType, requiresFinite } }) => {
      const norm = normOf(
        arrays.filter(({ shape }) => sizeOf(shape) > 0),
        normType,
      );
      const factor = min(div(largest, add(norm, constant(1e-6))), constant(1));
      return [norm, requiresFinite ? failingUnlessFinite(factor, norm) : factor];
    },
    emit: (graph, { attributes: { normType, requiresFinite } }, inputs, outputs) => {
      graph.ownNode('ClipNorm', inputs, outputs, {
        normType: { float: normType },
        requiresFinite: Number(requiresFinite),
      });
    },
    gradient: noGradient,
  },
};

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

/** Reads behind the end of a table of one row if the norm is NaN or infinite, which onnxruntime rejects. */
function failingUnlessFinite(factor: Value, norm: Value): Value {
  const row = cast(isNaN(mul(norm, constant(0))), 'int64');
  return reshape(gather(reshape(factor, [1, 1]), row), []);
}
