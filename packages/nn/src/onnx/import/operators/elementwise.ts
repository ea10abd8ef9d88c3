import { where } from '../../../combine.ts';
import * as F from '../../../functional/index.ts';
import type { Tensor } from '../../../tensor.ts';
import type { OperatorCall, OperatorRules } from '../call.ts';
import { dtypeOfCode } from '../decode-tensor.ts';

const unary = (compute: (x: Tensor) => Tensor) => (call: OperatorCall) => compute(call.tensor(0));
const binary = (compute: (a: Tensor, b: Tensor) => Tensor) => (call: OperatorCall) =>
  compute(call.tensor(0), call.tensor(1));
const several = (compute: (a: Tensor, b: Tensor) => Tensor) => (call: OperatorCall) =>
  call.tensors().reduce(compute);

/** Operators that compute each element from elements at its place. */
export const elementwiseRules: OperatorRules = {
  Identity: (call) => call.operand(0),
  Add: binary((a, b) => a.add(b)),
  Sub: binary((a, b) => a.sub(b)),
  Mul: binary((a, b) => a.mul(b)),
  // Integers are divided without their fraction.
  Div: binary((a, b) => (a.dtype === 'int64' ? a.div(b).to('int64') : a.div(b))),
  Pow: (call) => {
    const exponent = call.number(1)!;
    return call.tensor(0).pow(exponent);
  },
  Sum: several((a, b) => a.add(b)),
  Mean: (call) => {
    const tensors = call.tensors();
    return tensors.reduce((a, b) => a.add(b)).div(tensors.length);
  },
  Max: several((a, b) => a.maximum(b)),
  Min: several((a, b) => a.minimum(b)),
  Neg: unary((x) => x.neg()),
  Abs: unary((x) => x.abs()),
  Sign: unary((x) => x.sign()),
  Exp: unary((x) => x.exp()),
  Log: unary((x) => x.log()),
  Sqrt: unary((x) => x.sqrt()),
  Reciprocal: unary((x) => x.reciprocal()),
  Floor: unary((x) => x.floor()),
  Ceil: unary((x) => x.ceil()),
  Round: unary((x) => x.round()),
  Sin: unary((x) => x.sin()),
  Cos: unary((x) => x.cos()),
  Tan: unary((x) => x.tan()),
  Asin: unary((x) => x.asin()),
  Acos: unary((x) => x.acos()),
  Atan: unary((x) => x.atan()),
  Sinh: unary((x) => x.sinh()),
  Cosh: unary((x) => x.cosh()),
  Asinh: unary((x) => x.asinh()),
  Acosh: unary((x) => x.acosh()),
  Atanh: unary((x) => x.atanh()),
  Tanh: unary((x) => x.tanh()),
  Sigmoid: unary((x) => x.sigmoid()),
  Erf: unary((x) => x.erf()),
  Relu: unary((x) => x.relu()),
  Softplus: unary((x) => F.softplus(x)),
  Softsign: unary((x) => F.softsign(x)),
  HardSwish: unary((x) => F.hardswish(x)),
  Mish: unary((x) => F.mish(x)),
  LeakyRelu: (call) => F.leakyRelu(call.tensor(0), call.float('alpha', 0.01)),
  Elu: (call) => F.elu(call.tensor(0), call.float('alpha', 1)),
  Celu: (call) => F.celu(call.tensor(0), call.float('alpha', 1)),
  Selu: (call) => {
    const [alpha, gamma] = [call.float('alpha', 1.6732632), call.float('gamma', 1.050701)];
    return F.elu(call.tensor(0), alpha).mul(gamma);
  },
  HardSigmoid: (call) =>
    call.tensor(0).mul(call.float('alpha', 0.2)).add(call.float('beta', 0.5)).clamp(0, 1),
  Gelu: (call) =>
    F.gelu(call.tensor(0), { approximate: call.string('approximate', 'none') as 'none' | 'tanh' }),
  PRelu: (call) => {
    const x = call.tensor(0);
    return where(x.gt(0), x, x.mul(call.tensor(1)));
  },
  Clip: (call) => {
    const bounds = [call.int('min', call.number(1) ?? NaN), call.int('max', call.number(2) ?? NaN)];
    const [min, max] = bounds.map((bound) => (Number.isNaN(bound) ? null : bound));
    return min === null && max === null ? call.tensor(0) : call.tensor(0).clamp(min, max);
  },
  Cast: (call) => {
    const dtype = dtypeOfCode(call.int('to', 1));
    if (dtype === undefined) throw call.error('expected a cast to a float, an integer or bool');
    return call.tensor(0).to(dtype);
  },
  Equal: binary((a, b) => a.eq(b)),
  Greater: binary((a, b) => a.gt(b)),
  GreaterOrEqual: binary((a, b) => a.ge(b)),
  Less: binary((a, b) => a.lt(b)),
  LessOrEqual: binary((a, b) => a.le(b)),
  And: binary((a, b) => a.logicalAnd(b)),
  Or: binary((a, b) => a.logicalOr(b)),
  Xor: binary((a, b) => a.logicalXor(b)),
  Not: unary((x) => x.logicalNot()),
  IsNaN: unary((x) => x.isnan()),
  Where: (call) => where(call.tensor(0), call.tensor(1), call.tensor(2)),
  Dropout: (call) => {
    const ratio = call.float('ratio', call.number(1) ?? 0.5);
    return call.training && ratio > 0 ? F.dropout(call.tensor(0), ratio) : call.tensor(0);
  },
};
