import { where } from '../../../tensor/combine.ts';
import * as F from '../../../functional/index.ts';
import type { Tensor } from '../../../tensor/tensor.ts';
import {
  float,
  floating,
  input,
  int,
  numeric,
  oneOf,
  operator,
  type OperatorVersions,
} from '../specification.ts';
import { overAxis } from './axes.ts';

const floats = { types: { T: floating }, inputs: [input('X')] };

function unary(compute: (x: Tensor) => Tensor, since?: number): OperatorVersions {
  const first = since === undefined ? {} : { since };
  return operator({ ...floats, ...first, attributes: {}, compute: (call) => compute(call.tensor(0)) });
}

const softmax = (compute: (x: Tensor, axis: number) => Tensor): OperatorVersions => [
  ...operator({
    ...floats,
    until: 12,
    attributes: { axis: int(1) },
    compute: (call) => overAxis(call.tensor(0), call.attributes.axis, compute),
  }),
  ...operator({
    ...floats,
    since: 13,
    attributes: { axis: int(-1) },
    compute: (call) => compute(call.tensor(0), call.attributes.axis),
  }),
];

/** Functions of floats. */
export const activationOperators = {
  Sin: unary((x) => x.sin()),
  Cos: unary((x) => x.cos()),
  Tan: unary((x) => x.tan()),
  Asin: unary((x) => x.asin()),
  Acos: unary((x) => x.acos()),
  Atan: unary((x) => x.atan()),
  Sinh: unary((x) => x.sinh(), 9),
  Cosh: unary((x) => x.cosh(), 9),
  Asinh: unary((x) => x.asinh(), 9),
  Acosh: unary((x) => x.acosh(), 9),
  Atanh: unary((x) => x.atanh(), 9),
  Tanh: unary((x) => x.tanh()),
  Sigmoid: unary((x) => x.sigmoid()),
  Erf: unary((x) => x.erf(), 9),
  Softplus: unary((x) => F.softplus(x)),
  Softsign: unary((x) => F.softsign(x)),
  HardSwish: unary((x) => F.hardswish(x), 14),
  Mish: unary((x) => F.mish(x), 18),
  Relu: operator({
    types: { T: numeric },
    inputs: [input('X')],
    attributes: {},
    compute: (call) => {
      const x = call.tensor(0);
      return x.dtype === 'float32' ? x.relu() : x.clamp(0);
    },
  }),
  LeakyRelu: operator({
    ...floats,
    attributes: { alpha: float(0.01) },
    compute: (call) => F.leakyRelu(call.tensor(0), call.attributes.alpha),
  }),
  Elu: operator({
    ...floats,
    attributes: { alpha: float(1) },
    compute: (call) => F.elu(call.tensor(0), call.attributes.alpha),
  }),
  Celu: operator({
    ...floats,
    since: 12,
    attributes: { alpha: float(1) },
    compute: (call) => F.celu(call.tensor(0), call.attributes.alpha),
  }),
  Selu: operator({
    ...floats,
    attributes: { alpha: float(1.6732631921768188), gamma: float(1.0507010221481323) },
    compute: (call) => F.elu(call.tensor(0), call.attributes.alpha).mul(call.attributes.gamma),
  }),
  HardSigmoid: operator({
    ...floats,
    attributes: { alpha: float(0.2), beta: float(0.5) },
    compute: (call) => {
      const { alpha, beta } = call.attributes;
      return call.tensor(0).mul(alpha).add(beta).clamp(0, 1);
    },
  }),
  Gelu: operator({
    ...floats,
    since: 20,
    attributes: { approximate: oneOf<'none' | 'tanh'>('none', 'tanh') },
    compute: (call) => F.gelu(call.tensor(0), { approximate: call.attributes.approximate }),
  }),
  PRelu: operator({
    types: { T: numeric },
    inputs: [input('X'), input('slope')],
    attributes: {},
    wraps: true,
    compute: (call) => {
      const x = call.tensor(0);
      return where(x.gt(0), x, x.mul(call.tensor(1)));
    },
  }),
  Softmax: softmax((x, axis) => x.softmax(axis)),
  LogSoftmax: softmax((x, axis) => x.logSoftmax(axis)),
} as const satisfies Readonly<Record<string, OperatorVersions>>;
