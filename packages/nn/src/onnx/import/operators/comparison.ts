import type { Scalar } from '../../../dtype.ts';
import { where } from '../../../tensor/combine.ts';
import type { Tensor } from '../../../tensor/tensor.ts';
import { broadcasting, foldCondition } from '../folding.ts';
import {
  boolean,
  every,
  floating,
  input,
  numeric,
  operator,
  since,
  type DTypes,
  type OperatorVersions,
} from '../specification.ts';

function comparison(
  compute: (a: Tensor, b: Tensor) => Tensor,
  fold: (a: Scalar, b: Scalar) => boolean,
  T: DTypes = numeric,
): OperatorVersions {
  return operator({
    types: { T },
    inputs: [input('A'), input('B')],
    outputs: ['bool'],
    attributes: {},
    fold: foldCondition(fold),
    compute: (call) => compute(call.tensor(0), call.tensor(1)),
  });
}

/** Comparisons, logical operators and Where. */
export const comparisonOperators = {
  Equal: comparison(equal, (a, b) => a === b, every),
  Greater: comparison(
    (a, b) => a.gt(b),
    (a, b) => a > b,
  ),
  GreaterOrEqual: since12(
    comparison(
      (a, b) => a.ge(b),
      (a, b) => a >= b,
    ),
  ),
  Less: comparison(
    (a, b) => a.lt(b),
    (a, b) => a < b,
  ),
  LessOrEqual: since12(
    comparison(
      (a, b) => a.le(b),
      (a, b) => a <= b,
    ),
  ),
  And: comparison(
    (a, b) => a.logicalAnd(b),
    (a, b) => a === 1 && b === 1,
    boolean,
  ),
  Or: comparison(
    (a, b) => a.logicalOr(b),
    (a, b) => a === 1 || b === 1,
    boolean,
  ),
  Xor: comparison(
    (a, b) => a.logicalXor(b),
    (a, b) => a !== b,
    boolean,
  ),
  Not: operator({
    types: { T: boolean },
    inputs: [input('X')],
    attributes: {},
    fold: foldCondition((a) => a === 0),
    compute: (call) => call.tensor(0).logicalNot(),
  }),
  IsNaN: operator({
    since: 9,
    types: { T: floating },
    inputs: [input('X')],
    outputs: ['bool'],
    attributes: {},
    compute: (call) => call.tensor(0).isnan(),
  }),
  Where: operator({
    since: 9,
    types: { B: boolean, T: every },
    inputs: [input('condition', 'B'), input('X'), input('Y')],
    attributes: {},
    fold: (_, inputs) =>
      broadcasting(inputs[1].type, inputs, ([condition, a, b]) => (condition === 0 ? b : a)),
    compute: (call) => where(call.tensor(0), call.tensor(1), call.tensor(2)),
  }),
} as const satisfies Readonly<Record<string, OperatorVersions>>;

function equal(a: Tensor, b: Tensor): Tensor {
  return a.eq(b);
}

function since12(versions: OperatorVersions): OperatorVersions {
  return versions.map((version) => since(12, version));
}
