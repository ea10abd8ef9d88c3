import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import { createNode, createValue, type Node, type Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import type { GraphBuilder } from '../onnx-format/graph-builder.ts';
import { dataTypeCode } from '../onnx-format/type-codes.ts';
import { normalizeAxis } from './axes.ts';
import { type OperatorFamily } from './definition.ts';
import { exp, mul, sub } from './elementwise.ts';
import { oneHot } from './indexing.ts';
import { reduceSum } from './reduction.ts';

/** exp x / Σ exp x along an axis. */
export function softmax(value: Value, givenAxis: number): Value {
  if (!isFloat(value)) throw new ShapeError(`softmax: expected float32, got ${describeType(value)}.`);
  const axis = normalizeAxis('softmax', givenAxis, value);
  return createValue('Softmax', [value], { axis }, value);
}

/** x − log Σ exp x along an axis. */
export function logSoftmax(value: Value, givenAxis: number): Value {
  if (!isFloat(value)) throw new ShapeError(`logSoftmax: expected float32, got ${describeType(value)}.`);
  const axis = normalizeAxis('logSoftmax', givenAxis, value);
  return createValue('LogSoftmax', [value], { axis }, value);
}

/** −mean of logProbabilities[n, classes[n]] over the n whose class is not `ignoreIndex`: [N, C] and [N] (int64) give a scalar. */
export function negativeLogLikelihood(logProbabilities: Value, classes: Value, ignoreIndex: number): Value {
  const [n] = logProbabilities.shape;
  const fits =
    isFloat(logProbabilities) &&
    logProbabilities.shape.length === 2 &&
    classes.dtype === 'int64' &&
    classes.shape.length === 1 &&
    classes.shape[0] === n;
  if (!fits) {
    throw new ShapeError(
      `nllLoss: expected float32[N,C] and int64[N], got ${describeType(logProbabilities)} and ${describeType(classes)}.`,
    );
  }
  const { dtype } = logProbabilities;
  const types = [
    { dtype, shape: [] },
    { dtype: 'int64', shape: classes.shape },
    { dtype: 'float32', shape: [] },
  ] as const;
  return createNode('NegativeLogLikelihoodLoss', [logProbabilities, classes], { ignoreIndex }, types)
    .outputs[0];
}

export const softmaxes: OperatorFamily<'Softmax' | 'LogSoftmax' | 'NegativeLogLikelihoodLoss'> = {
  Softmax: {
    emit: emitSoftmax,
    takesBfloat16: true,
    // In float32: onnxruntime's operator takes no bfloat16.
    plain: ({ inputs: [x], attributes: { axis } }) => [softmax(x, axis)],
    gradient: ({ outputs: [y], attributes: { axis } }, [d]) => {
      if (d === undefined) return [];
      return [gradientOfSoftmax(y, d, axis)];
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
    emit: emitNegativeLogLikelihood,
    omits: [0, 1, 2],
    gradient: ({ inputs: [logProbabilities], outputs: [, places, share] }, [d]) => [
      d && mul(oneHot(places, logProbabilities.shape[1], -1), mul(d, share)),
    ],
  },
};

/** onnxruntime's operator is faster, but takes no bfloat16. */
function emitSoftmax(
  graph: GraphBuilder,
  { inputs: [{ dtype, shape }], attributes: { axis } }: Node<'Softmax'>,
  [x]: readonly string[],
  [y]: readonly string[],
): void {
  if (dtype !== 'bfloat16') graph.node('Softmax', [x], [y], { axis });
  else if (axis === shape.length - 1) graph.ownNode('Softmax', [x], [y]);
  else {
    const [wide, result] = ['wide', 'softmax'].map((name) => graph.freshName(name));
    graph.node('Cast', [x], [wide], { to: dataTypeCode.float32 });
    graph.node('Softmax', [wide], [result], { axis });
    graph.node('Cast', [result], [y], { to: dataTypeCode.bfloat16 });
  }
}

/** Computes the gradient from the result y of a softmax and the gradient of y. */
export function gradientOfSoftmax(y: Value, d: Value, axis: number): Value {
  return mul(y, sub(d, reduceSum(mul(d, y), [axis], true)));
}

function emitNegativeLogLikelihood(
  graph: GraphBuilder,
  { inputs: [{ shape }], attributes: { ignoreIndex } }: Node<'NegativeLogLikelihoodLoss'>,
  [logProbabilities, classes]: readonly string[],
  [loss, places, share]: readonly string[],
): void {
  if (loss) {
    const attributes = { reduction: 'mean', ignore_index: ignoreIndex };
    graph.node('NegativeLogLikelihoodLoss', [logProbabilities, classes], [loss], attributes);
  }
  if (!places && !share) return;
  const ignored = graph.freshName('ignored');
  graph.node('Equal', [classes, graph.constant('int64', [], [ignoreIndex])], [ignored]);
  if (places) {
    // C, one past the last class, gives a row of zeros in OneHot.
    graph.node('Where', [ignored, graph.constant('int64', [], [shape[1]]), classes], [places]);
  }
  if (!share) return;
  const [taken, counted, count, atLeast1] = ['taken', 'counted', 'count', 'atLeast1'].map((name) =>
    graph.freshName(name),
  );
  graph.node('Not', [ignored], [taken]);
  graph.node('Cast', [taken], [counted], { to: dataTypeCode.float32 });
  graph.node('ReduceSum', [counted], [count], { keepdims: 0 });
  const one = graph.constant('float32', [], [1]);
  // As in torch, the gradient is 0 if all classes are ignored, although the loss is NaN.
  graph.node('Max', [count, one], [atLeast1]);
  graph.node('Div', [one, atLeast1], [share]);
}
