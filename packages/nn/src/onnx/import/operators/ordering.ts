import { cumulativeSum } from '../../../ops/cumulative.ts';
import { pad } from '../../../ops/shape.ts';
import { Tensor } from '../../../tensor/tensor.ts';
import { asTensor, integers } from '../constant-array.ts';
import { axisOf } from '../folding.ts';
import {
  flag,
  floating,
  input,
  int,
  integral,
  known,
  numeric,
  operator,
  requiredInt,
  since,
  type OperatorVersions,
} from '../specification.ts';

/** The position of the first or of the last extreme element. */
function position(isLargest: boolean): OperatorVersions {
  return operator({
    types: { T: numeric },
    inputs: [input('data')],
    outputs: ['int64'],
    attributes: { axis: int(0), keepdims: flag(1), select_last_index: since(12, flag(0)) },
    compute: (call) => {
      const x = call.tensor(0);
      const axis = axisOf(call.attributes.axis, x.shape.length);
      const keepdims = call.attributes.keepdims === 1;
      if (call.attributes.select_last_index === 0) return firstPosition(x, axis, isLargest, keepdims);
      const fromEnd = firstPosition(x.flip(axis), axis, isLargest, keepdims);
      return asTensor(integers([x.shape[axis] - 1], [])).sub(fromEnd);
    },
  });
}

function firstPosition(x: Tensor, axis: number, isLargest: boolean, keepdims: boolean): Tensor {
  return isLargest ? x.argmax(axis, keepdims) : x.argmin(axis, keepdims);
}

/** Operators that depend on the order of elements along an axis. */
export const orderingOperators = {
  ArgMax: position(true),
  ArgMin: position(false),
  TopK: [
    ...operator({
      until: 9,
      types: { T: floating },
      inputs: [input('X')],
      outputs: ['T', 'int64'],
      attributes: { axis: int(-1), k: requiredInt },
      compute: (call) => {
        const { values, indices } = call.tensor(0).topk(call.attributes.k, call.attributes.axis);
        return [values, indices];
      },
    }),
    ...operator({
      since: 10,
      types: { T: numeric, K: integral },
      inputs: [input('X'), known(input('K', 'K'))],
      outputs: ['T', 'int64'],
      // If no order is required, sorted elements are valid too.
      attributes: { axis: int(-1), largest: since(11, flag(1)), sorted: since(11, flag(1)) },
      compute: (call) => {
        const { axis, largest } = call.attributes;
        const { values, indices } = call.tensor(0).topk(call.number(1)!, axis, largest === 1);
        return [values, indices];
      },
    }),
  ],
  CumSum: operator({
    since: 11,
    types: { T: numeric, T2: integral },
    inputs: [input('x'), known(input('axis', 'T2'))],
    attributes: { exclusive: flag(0), reverse: flag(0) },
    wraps: true,
    compute: (call) => {
      const x = call.tensor(0);
      const axis = axisOf(call.number(1)!, x.shape.length);
      const isReverse = call.attributes.reverse === 1;
      const sums = (part: Tensor) => new Tensor(cumulativeSum(part.value, axis, isReverse));
      if (call.attributes.exclusive === 0) return sums(x);
      const size = x.shape[axis];
      if (size === 0) return x;
      // The sum of the elements before the first one is 0.
      const none = x.shape.map(() => 0);
      const others = sums(x.narrow(axis, isReverse ? 1 : 0, size - 1)).value;
      const [before, after] = isReverse ? [none, none.with(axis, 1)] : [none.with(axis, 1), none];
      return new Tensor(pad(others, before, after));
    },
  }),
} as const satisfies Readonly<Record<string, OperatorVersions>>;
