import { fmod, remainder } from '../../../src/ops/division.ts';
import { customFunction, variable } from '../../../src/ops/custom-gradient.ts';
import { addDependency, checkpointBoundary } from '../../../src/ops/dependency.ts';
import * as elementwise from '../../../src/ops/elementwise.ts';
import {
  abs,
  erf,
  leakyRelu,
  pow,
  tensorPower,
  sigmoid,
  softplus,
  tanh,
} from '../../../src/ops/functions.ts';
import * as trigonometry from '../../../src/ops/trigonometry.ts';
import { constant, constantTensor } from '../../../src/ops/source.ts';
import { withSlopes } from '../../../src/ops/with-slope.ts';

import { broadcasting, of, unary, type Cases } from './build.ts';

const column = elementwise.greater(constantTensor([3, 1], [1, -1, 1]), constant(0));

export const elementwiseCases = {
  Add: broadcasting(elementwise.add),
  Sub: broadcasting(elementwise.sub),
  Mul: broadcasting(elementwise.mul),
  AddSlope: broadcasting((a, b) => withSlopes(elementwise.mul(a, b), [a, b], [b, a])),
  Div: broadcasting((a, b) => elementwise.div(a, elementwise.add(b, constant(2.5)))),
  Max: broadcasting(elementwise.max),
  Min: broadcasting(elementwise.min),
  Neg: unary(elementwise.neg),
  Checkpoint: unary((a) => checkpointBoundary(elementwise.neg(checkpointBoundary(a, 'input')), 'output')),
  AddDependency: {
    'on a function of the value': of(
      (a) => [addDependency(elementwise.exp(a), elementwise.mul(a, a))],
      [3, 5],
    ),
  },
  Variable: unary((a) => elementwise.mul(variable(a), a)),
  CustomFunction: unary((a) => {
    const result = elementwise.exp(a);
    return customFunction([result], [a], ([d]) => [d && elementwise.mul(d, result)])[0];
  }),
  Exp: unary(elementwise.exp),
  Log: unary((a) => elementwise.log(elementwise.add(a, constant(1.5)))),
  Sqrt: unary((a) => elementwise.sqrt(elementwise.add(a, constant(1.5)))),
  Relu: unary((a) => elementwise.relu(elementwise.add(a, constant(0.5)))),
  Pow: {
    'a broken power': of((a) => [pow(elementwise.add(a, constant(1.5)), 1.7)], [3, 5]),
    'a negative power': of((a) => [pow(elementwise.add(a, constant(1.5)), -2)], [3, 5]),
    'a whole power of negative numbers': of((a) => [pow(a, 4)], [3, 5]),
    'a product beside it': of((a) => [pow(a, 3), pow(a, 4)], [7]),
    'the constant 1': of((a) => [elementwise.add(a, pow(a, 0))], [3]),
  },
  Power: broadcasting((a, b) => tensorPower(elementwise.add(a, constant(1.5)), b)),
  Abs: unary(abs),
  Sin: unary((a) => trigonometry.sin(elementwise.mul(a, constant(3)))),
  Cos: unary((a) => trigonometry.cos(elementwise.mul(a, constant(3)))),
  Tan: unary(trigonometry.tan),
  Asin: unary((a) => trigonometry.asin(elementwise.mul(a, constant(0.9)))),
  Acos: unary((a) => trigonometry.acos(elementwise.mul(a, constant(0.9)))),
  Atan: unary((a) => trigonometry.atan(elementwise.mul(a, constant(3)))),
  Sinh: unary((a) => trigonometry.sinh(elementwise.mul(a, constant(2)))),
  Cosh: unary((a) => trigonometry.cosh(elementwise.mul(a, constant(2)))),
  Asinh: unary((a) => trigonometry.asinh(elementwise.mul(a, constant(3)))),
  Acosh: unary((a) => trigonometry.acosh(elementwise.add(a, constant(2.5)))),
  Atanh: unary((a) => trigonometry.atanh(elementwise.mul(a, constant(0.9)))),
  Mod: {
    ...broadcasting((a, b) => remainder(elementwise.mul(a, constant(4)), elementwise.add(b, constant(1.7)))),
    'negative divisors': of(
      (a, b) => [fmod(elementwise.mul(a, constant(4)), elementwise.sub(b, constant(1.7)))],
      [3, 5],
      [5],
    ),
  },
  Erf: unary((a) => erf(elementwise.mul(a, constant(2)))),
  Tanh: unary((a) => tanh(elementwise.mul(a, constant(2)))),
  Sigmoid: unary((a) => sigmoid(elementwise.mul(a, constant(3)))),
  Softplus: unary((a) => softplus(elementwise.mul(a, constant(5)))),
  LeakyRelu: unary((a) => leakyRelu(a, 0.125)),
  Where: {
    'equal shapes': of((a, b) => [elementwise.where(elementwise.greater(a, b), a, b)], [3, 4], [3, 4]),
    broadcast: of((a, b) => [elementwise.where(column, a, b)], [4], [2, 1, 1]),
  },
} satisfies Cases;
