import { createValue, type Value } from '../graph/node.ts';
import { emitPlain, type OperatorFamily } from './definition.ts';
import { add, div, mul, neg, sqrt, sub, asFloat } from './elementwise.ts';
import { constant } from './source.ts';

// Functions of angles in radians, hyperbolic functions, and their inverses; elementwise.

type Trigonometric =
  ('Sin' | 'Cos' | 'Tan' | 'Asin' | 'Acos' | 'Atan') | ('Sinh' | 'Cosh' | 'Asinh' | 'Acosh' | 'Atanh');

export const sin = (x: Value): Value => plain('Sin', x);
export const cos = (x: Value): Value => plain('Cos', x);
export const tan = (x: Value): Value => plain('Tan', x);
export const asin = (x: Value): Value => plain('Asin', x);
export const acos = (x: Value): Value => plain('Acos', x);
export const atan = (x: Value): Value => plain('Atan', x);
export const sinh = (x: Value): Value => plain('Sinh', x);
export const cosh = (x: Value): Value => plain('Cosh', x);
export const asinh = (x: Value): Value => plain('Asinh', x);
export const acosh = (x: Value): Value => plain('Acosh', x);
export const atanh = (x: Value): Value => plain('Atanh', x);

export const trigonometry: OperatorFamily<Trigonometric> = {
  Sin: { emit: emitPlain, gradient: ({ inputs: [x] }, [d]) => [d && mul(d, cos(x))] },
  Cos: { emit: emitPlain, gradient: ({ inputs: [x] }, [d]) => [d && neg(mul(d, sin(x)))] },
  Tan: {
    emit: emitPlain,
    gradient: ({ outputs: [y] }, [d]) => [d && mul(d, add(square(y), constant(1)))],
  },
  Asin: {
    emit: emitPlain,
    gradient: ({ inputs: [x] }, [d]) => [d && div(d, sqrt(sub(constant(1), square(x))))],
  },
  Acos: {
    emit: emitPlain,
    gradient: ({ inputs: [x] }, [d]) => [d && neg(div(d, sqrt(sub(constant(1), square(x)))))],
  },
  Atan: {
    emit: emitPlain,
    gradient: ({ inputs: [x] }, [d]) => [d && div(d, add(square(x), constant(1)))],
  },
  Sinh: { emit: emitPlain, gradient: ({ inputs: [x] }, [d]) => [d && mul(d, cosh(x))] },
  Cosh: { emit: emitPlain, gradient: ({ inputs: [x] }, [d]) => [d && mul(d, sinh(x))] },
  Asinh: {
    emit: emitPlain,
    gradient: ({ inputs: [x] }, [d]) => [d && div(d, sqrt(add(square(x), constant(1))))],
  },
  Acosh: {
    emit: emitPlain,
    gradient: ({ inputs: [x] }, [d]) => [d && div(d, sqrt(sub(square(x), constant(1))))],
  },
  Atanh: {
    emit: emitPlain,
    gradient: ({ inputs: [x] }, [d]) => [d && div(d, sub(constant(1), square(x)))],
  },
};

const square = (x: Value): Value => mul(x, x);

/** A function of floats, in float32 for integers. */
function plain(op: Trigonometric, of: Value): Value {
  const x = asFloat(of);
  return createValue(op, [x], {}, x);
}
