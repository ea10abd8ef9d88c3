import { ShapeError } from '../errors.ts';
import { createValue, describeType, type Value } from '../graph/node.ts';
import { normalizeAxis } from './axes.ts';
import { type OperatorFamily } from './definition.ts';
import { exp, mul, sub } from './elementwise.ts';
import { oneHot } from './indexing.ts';
import { reduceSum } from './reduction.ts';

/** exp x / Σ exp x along an axis. */
export function softmax(value: Value, givenAxis: number): Value {
  if (value.dtype !== 'float32')
    throw new ShapeError(`Softmax: takes float32, given ${describeType(value)}.`);
  const axis = normalizeAxis('Softmax', givenAxis, value);
  return createValue('Softmax', [value], { axis }, value);
}

/** x − log Σ exp x along an axis. */
export function logSoftmax(value: Value, givenAxis: number): Value {
  if (value.dtype !== 'float32')
    throw new ShapeError(`LogSoftmax: takes float32, given ${describeType(value)}.`);
  const axis = normalizeAxis('LogSoftmax', givenAxis, value);
  return createValue('LogSoftmax', [value], { axis }, value);
}

/** −mean over n of logProbabilities[n, classes[n]]: [N, C] and [N] (int64) give a scalar. */
export function negativeLogLikelihood(logProbabilities: Value, classes: Value): Value {
  const [n] = logProbabilities.shape;
  const fits =
    logProbabilities.dtype === 'float32' &&
    logProbabilities.shape.length === 2 &&
    classes.dtype === 'int64' &&
    classes.shape.length === 1 &&
    classes.shape[0] === n;
  if (!fits) {
    throw new ShapeError(
      `NegativeLogLikelihoodLoss: takes float32[N,C] and int64[N], given ${describeType(logProbabilities)} and ${describeType(classes)}.`,
    );
  }
  const type = { dtype: 'float32', shape: [] } as const;
  return createValue('NegativeLogLikelihoodLoss', [logProbabilities, classes], {}, type);
}

export const softmaxes: OperatorFamily<'Softmax' | 'LogSoftmax' | 'NegativeLogLikelihoodLoss'> = {
  Softmax: {
    emit: (graph, { attributes: { axis } }, inputs, outputs) => {
      graph.node('Softmax', inputs, outputs, { axis });
    },
    gradient: ({ outputs: [y], attributes: { axis } }, [d]) => {
      if (d === undefined) return [];
      return [mul(y, sub(d, reduceSum(mul(d, y), [axis], true)))];
    },
  },
  LogSoftmax: {
    emit: (graph, { attributes: { axis } }, inputs, outputs) => {
      graph.node('LogSoftmax', inputs, outputs, { axis });
    },
    gradient: ({ outputs: [y], attributes: { axis } }, [d]) => [
      d && sub(d, mul(exp(y), reduceSum(d, [axis], true))),
    ],
  },
  NegativeLogLikelihoodLoss: {
    emit: (graph, _, inputs, outputs) => {
      graph.node('NegativeLogLikelihoodLoss', inputs, outputs, { reduction: 'mean' });
    },
    gradient: ({ inputs: [logProbabilities, classes] }, [d]) => {
      const [n, depth] = logProbabilities.shape;
      return [d && mul(oneHot(classes, depth, -1 / n), d)];
    },
  },
};
