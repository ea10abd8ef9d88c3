import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import { createNode, type Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { normalizeAxes } from './axes.ts';
import { type MaybeValue, type OperatorFamily } from './definition.ts';
import { add, div, mul, sqrt, sub } from './elementwise.ts';
import { reduceMean } from './reduction.ts';
import { expand } from './shape.ts';
import { constant } from './source.ts';

/** A value with mean 0 and variance 1 over some axes, and its original mean and variance, which keep those axes with size 1. */
export interface Normalized {
  readonly normalized: Value;
  readonly mean: Value;
  /** Biased: divided by the number of elements. */
  readonly variance: Value;
}

/** Computes (x − mean) / √(variance + epsilon), with mean and variance over the axes. */
export function normalize(value: Value, givenAxes: readonly number[], epsilon: number): Normalized {
  if (!isFloat(value)) throw new ShapeError(`layerNorm: expected float32, got ${describeType(value)}.`);
  const axes = normalizeAxes('layerNorm', givenAxes, value);
  const statistic = {
    dtype: 'float32',
    shape: value.shape.map((size, axis) => (axes.includes(axis) ? 1 : size)),
  } as const;
  const node = createNode('Normalize', [value], { axes, epsilon }, [value, statistic, statistic]);
  const [normalized, mean, variance] = node.outputs;
  return { normalized, mean, variance };
}

export const normalization: OperatorFamily<'Normalize'> = {
  Normalize: {
    emit: (graph, { attributes: { axes, epsilon } }, [x], outputs) => {
      const [normalized, mean, variance] = outputs;
      const axesInput = graph.constant('int64', [axes.length], axes);
      const keep = { keepdims: 1, noop_with_empty_axes: 1 };
      const [centered, squares, shifted, deviation] = ['centered', 'squares', 'shifted', 'deviation'].map(
        (name) => graph.freshName(name),
      );
      graph.node('ReduceMean', [x, axesInput], [mean], keep);
      graph.node('Sub', [x, mean], [centered]);
      graph.node('Mul', [centered, centered], [squares]);
      graph.node('ReduceMean', [squares, axesInput], [variance], keep);
      graph.node('Add', [variance, graph.constant('float32', [], [epsilon])], [shifted]);
      graph.node('Sqrt', [shifted], [deviation]);
      graph.node('Div', [centered, deviation], [normalized]);
    },
    // With y the normalized value, s = √(variance + ε) and m the mean over the axes: dx = (dy − m(dy) − y·m(dy·y)) / s.
    gradient: ({ inputs: [x], outputs: [y, , variance], attributes: { axes, epsilon } }, gradients) => {
      const [dNormalized, dMean, dVariance] = gradients;
      const deviation = sqrt(add(variance, constant(epsilon)));
      const count = constant(axes.reduce((product, axis) => product * x.shape[axis], 1));
      const mean = (value: Value) => reduceMean(value, axes, true);
      const parts: MaybeValue[] = [
        dNormalized &&
          div(sub(sub(dNormalized, mean(dNormalized)), mul(y, mean(mul(dNormalized, y)))), deviation),
        dMean && expand(div(dMean, count), x.shape),
        // x − mean = y·s
        dVariance && mul(y, div(mul(mul(dVariance, deviation), constant(2)), count)),
      ];
      const delivered = parts.filter((part) => part !== undefined);
      return [delivered.reduce((sum, part) => add(sum, part))];
    },
  },
};
