import { expand } from '../../../ops/shape.ts';
import * as F from '../../../functional/index.ts';
import { Tensor } from '../../../tensor.ts';
import { axisOf } from '../folding.ts';
import type { OperatorCall, OperatorRules } from '../call.ts';

type Reduce = (x: Tensor, axes: readonly number[], keepdims: boolean) => Tensor;

const reduction =
  (reduce: Reduce) =>
  (call: OperatorCall): Tensor => {
    const x = call.tensor(0);
    const given = call.list('axes', 1) ?? [];
    if (given.length === 0 && call.int('noop_with_empty_axes', 0)) return x;
    const axes = given.length > 0 ? given.map((axis) => axisOf(axis, x.shape.length)) : [...x.shape.keys()];
    return reduce(x, axes, call.int('keepdims', 1) === 1);
  };

const position =
  (find: (x: Tensor, axis: number, keepdims: boolean) => Tensor) =>
  (call: OperatorCall): Tensor =>
    find(call.tensor(0), call.int('axis', 0), call.int('keepdims', 1) === 1);

/** Operators over axes. */
export const reductionRules: OperatorRules = {
  ReduceSum: reduction((x, axes, keep) => x.sum(axes, keep)),
  ReduceMean: reduction((x, axes, keep) => x.mean(axes, keep)),
  ReduceMax: reduction((x, axes, keep) => x.amax(axes, keep)),
  ReduceMin: reduction((x, axes, keep) => x.amin(axes, keep)),
  ReduceL1: reduction((x, axes, keep) => x.norm(1, axes, keep)),
  ReduceL2: reduction((x, axes, keep) => x.norm(2, axes, keep)),
  ReduceSumSquare: reduction((x, axes, keep) => x.square().sum(axes, keep)),
  ReduceLogSumExp: reduction((x, axes, keep) => x.logsumexp(axes, keep)),
  ArgMax: position((x, axis, keep) => x.argmax(axis, keep)),
  ArgMin: position((x, axis, keep) => x.argmin(axis, keep)),
  TopK: (call) => {
    const k = call.number(1);
    if (k === undefined) throw call.error('expected the number of elements');
    const { values, indices } = call.tensor(0).topk(k, call.int('axis', -1), call.int('largest', 1) === 1);
    return [values, indices];
  },
  CumSum: (call) => {
    if (call.int('exclusive', 0) || call.int('reverse', 0)) {
      throw call.error('expected a sum from the first element to each, not exclusive or reverse');
    }
    return call.tensor(0).cumsum(call.number(1) ?? 0);
  },
  Softmax: overAxis((x, axis) => x.softmax(axis)),
  LogSoftmax: overAxis((x, axis) => x.logSoftmax(axis)),
  LayerNormalization: (call) => {
    const x = call.tensor(0);
    const shape = x.shape.slice(axisOf(call.int('axis', -1), x.shape.length));
    const [weight, bias] = [call.optional(1), call.optional(2)].map((one) => one && spread(one, shape));
    return F.layerNorm(x, shape, weight, bias, { eps: call.float('epsilon', 1e-5) });
  },
};

/** Before opset 13, all dimensions from the axis on were one. */
function overAxis(compute: (x: Tensor, axis: number) => Tensor) {
  return (call: OperatorCall): Tensor => {
    const x = call.tensor(0);
    if (call.opset >= 13) return compute(x, call.int('axis', -1));
    const axis = axisOf(call.int('axis', 1), x.shape.length);
    if (axis === x.shape.length - 1) return compute(x, axis);
    return compute(x.flatten(axis), axis).view(...x.shape);
  };
}

function spread(value: Tensor, shape: readonly number[]): Tensor {
  return value.shape.join() === shape.join() ? value : new Tensor(expand(value.value, shape));
}
