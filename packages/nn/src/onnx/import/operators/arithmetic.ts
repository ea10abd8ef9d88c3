import { truncatedDivide } from '../../../ops/division.ts';
import { tensorPower } from '../../../ops/functions.ts';
import { Tensor } from '../../../tensor/tensor.ts';
import type { OperatorCall } from '../call.ts';
import { broadcasting, foldElements, type ScalarFunction } from '../folding.ts';
import {
  floating,
  flag,
  input,
  numeric,
  operator,
  optional,
  setting,
  variadic,
  float,
  type DTypes,
  type OperatorVersions,
} from '../specification.ts';
import { integerPower } from './integers.ts';

const isFloat = (x: Tensor) => x.dtype === 'float32';

function unary(
  compute: (x: Tensor) => Tensor,
  fold: ScalarFunction,
  { T = numeric, since = 0 }: { readonly T?: DTypes; readonly since?: number } = {},
): OperatorVersions {
  return operator({
    since,
    types: { T },
    inputs: [input('X')],
    attributes: {},
    wraps: true,
    fold: foldElements(fold),
    compute: (call) => compute(call.tensor(0)),
  });
}

function binary(compute: (a: Tensor, b: Tensor) => Tensor, fold: Required<ScalarFunction>): OperatorVersions {
  return operator({
    types: { T: numeric },
    inputs: [input('A'), input('B')],
    attributes: {},
    wraps: true,
    fold: foldElements(fold),
    compute: (call) => compute(call.tensor(0), call.tensor(1)),
  });
}

/** A sum, a mean or an extreme of any number of tensors. */
function several(
  compute: (tensors: Tensor[]) => Tensor,
  fold: ScalarFunction,
  T: DTypes = floating,
): OperatorVersions {
  return operator({
    types: { T },
    inputs: [variadic('data_0')],
    attributes: {},
    fold: foldElements(fold),
    compute: (call) => compute(call.tensors()),
  });
}

const sum = (tensors: Tensor[]) => tensors.reduce((a, b) => a.add(b));

/** Elementwise operators. */
export const arithmeticOperators = {
  Add: binary((a, b) => a.add(b), { float: (a, b) => a + b, integer: (a, b) => a + b }),
  Sub: binary((a, b) => a.sub(b), { float: (a, b) => a - b, integer: (a, b) => a - b }),
  Mul: binary((a, b) => a.mul(b), { float: (a, b) => a * b, integer: (a, b) => a * b }),
  Div: binary((a, b) => (isFloat(a) ? a.div(b) : new Tensor(truncatedDivide(a.value, b.value))), {
    float: (a, b) => a / b,
    integer: (a, b) => (b === 0n ? 0n : a / b),
  }),
  Mod: operator({
    since: 10,
    types: { T: numeric },
    inputs: [input('A'), input('B')],
    attributes: { fmod: flag(0) },
    fold: (call, inputs) => {
      const hasSignOfDividend = call.attributes.fmod === 1;
      const modulo = (a: number, b: number) => {
        const rest = a % b;
        return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
      };
      return foldElements({
        float: hasSignOfDividend ? (a, b) => a % b : modulo,
        integer: (a, b) => {
          if (b === 0n) return 0n;
          const rest = a % b;
          return !hasSignOfDividend && rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
        },
      })(call, inputs);
    },
    compute: (call) => {
      const [a, b] = [call.tensor(0), call.tensor(1)];
      return call.attributes.fmod === 1 ? a.fmod(b) : a.remainder(b);
    },
  }),
  Pow: operator({
    types: { T: numeric, T1: numeric },
    inputs: [input('X'), setting(input('Y', 'T1'))],
    attributes: {},
    wraps: true,
    // Integer powers are repeated multiplications.
    needs: ({ dtype }) => (dtype(0) === 'int64' ? [1] : []),
    fold: (_, [x, y]) =>
      broadcasting(x.type, [x, y], ([base, exponent]) => {
        if (typeof base === 'number') return base ** Number(exponent);
        return typeof exponent === 'bigint' && exponent >= 0n
          ? base ** exponent
          : BigInt(Math.trunc(Number(base) ** Number(exponent)));
      }),
    compute: (call) => {
      const x = call.tensor(0);
      if (!isFloat(x)) return integerPower(call, x);
      const exponent = call.operand(1);
      if (
        !(exponent instanceof Tensor) &&
        exponent.data.length === 1 &&
        exponent.shape.length <= x.shape.length
      ) {
        return new Tensor(x.pow(Number(exponent.data[0])).value);
      }
      return new Tensor(tensorPower(x.value, call.tensor(1).float().value));
    },
  }),
  Sum: several(sum, { float: (...elements) => elements.reduce((a, b) => a + b) }),
  Mean: several((tensors) => sum(tensors).div(tensors.length), {
    float: (...elements) => elements.reduce((a, b) => a + b) / elements.length,
  }),
  Max: several(
    (tensors) => tensors.reduce((a, b) => a.maximum(b)),
    { float: Math.max, integer: (...elements) => elements.reduce((a, b) => (a > b ? a : b)) },
    numeric,
  ),
  Min: several(
    (tensors) => tensors.reduce((a, b) => a.minimum(b)),
    { float: Math.min, integer: (...elements) => elements.reduce((a, b) => (a < b ? a : b)) },
    numeric,
  ),
  Neg: unary((x) => x.neg(), { float: (a) => -a, integer: (a) => -a }),
  Abs: unary((x) => x.abs(), {
    float: Math.abs,
    integer: (a) => (a < 0n ? -a : a),
  }),
  Sign: unary(
    (x) => x.sign(),
    {
      float: Math.sign,
      integer: (a) => (a > 0n ? 1n : a < 0n ? -1n : 0n),
    },
    { since: 9 },
  ),
  Sqrt: unary((x) => x.sqrt(), { float: Math.sqrt }, { T: floating }),
  Exp: unary((x) => x.exp(), { float: Math.exp }, { T: floating }),
  Log: unary((x) => x.log(), { float: Math.log }, { T: floating }),
  Reciprocal: unary((x) => x.reciprocal(), { float: (a) => 1 / a }, { T: floating }),
  Floor: unary((x) => x.floor(), { float: Math.floor }, { T: floating }),
  Ceil: unary((x) => x.ceil(), { float: Math.ceil }, { T: floating }),
  Round: unary((x) => x.round(), { float: roundedToEven }, { T: floating, since: 11 }),
  Clip: [
    ...operator({
      until: 10,
      types: { T: floating },
      inputs: [input('input')],
      attributes: { min: float(-3.4028234663852886e38), max: float(3.4028234663852886e38) },
      compute: (call) => call.tensor(0).clamp(call.attributes.min, call.attributes.max),
    }),
    ...operator({
      since: 11,
      types: { T: numeric },
      inputs: [input('input'), setting(optional('min')), setting(optional('max'))],
      attributes: {},
      compute: (call) => {
        const [min, max] = [limit(call, 1), limit(call, 2)];
        return min === null && max === null ? call.tensor(0) : call.tensor(0).clamp(min, max);
      },
    }),
  ],
} as const satisfies Readonly<Record<string, OperatorVersions>>;

/** A limit of Clip: a number passed as an input, or a tensor. */
function limit(call: OperatorCall<unknown>, index: number): Tensor | number | null {
  const operand = call.operands.at(index);
  if (operand === undefined) return null;
  if (operand instanceof Tensor) return operand.view();
  return operand.type === 'float32' ? Number(operand.data[0]) : call.tensor(index).view();
}

/** Rounds to the nearest integer, ties to even. */
function roundedToEven(x: number): number {
  const below = Math.floor(x);
  const rest = x - below;
  if (rest !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
}
