import {
  called,
  integers,
  mask,
  method,
  numbers,
  type Argument,
  type Branches,
  type Call,
} from './network.ts';
import type { Random } from './random.ts';
import type { Draw } from './windows.ts';

const unary =
  (name: string, ...args: readonly Argument[]): Draw =>
  () =>
    method(name, args);

/** Numbers between -1 and 1 first, for functions that are defined only there, or grow fast. */
const bounded =
  (name: string, factor = 1, ...args: readonly Argument[]): Draw =>
  () => [method('tanh'), method('mul', [factor]), method(name, args)];

/** Positive numbers first. */
const positive =
  (name: string, ...args: readonly Argument[]): Draw =>
  () => [method('abs'), method('add', [0.5]), method(name, args)];

/** A shape that broadcasts to another, of as many or fewer dimensions. */
const broadcasting = (random: Random, shape: readonly number[]): number[] =>
  shape.slice(random.int(0, shape.length - 1)).map((size) => (random.chance(0.3) ? 1 : size));

/** With a tensor of other numbers, or a number. */
const binary =
  (name: string, isPositive = false): Draw =>
  (random, shape) => {
    const other = random.chance(0.8) ? numbers(broadcasting(random, shape), random.int(5, 40)) : 0.75;
    return method(name, [isPositive ? 1.75 : other]);
  };

const axisOf = (random: Random, shape: readonly number[]) => random.int(-shape.length, shape.length - 1);

/** Over some axes; never the first, so that the result is a tensor. */
const reduction =
  (name: string): Draw =>
  (random, shape) => {
    if (shape.length < 2) return undefined;
    const axes = [...shape.keys()].slice(1).filter(() => random.chance());
    return method(name, [axes.length > 0 ? axes : [shape.length - 1], random.chance()]);
  };

/** Along one axis, which is removed or stays as 1. */
const along =
  (name: string): Draw =>
  (random, shape) =>
    shape.length > 1 ? method(name, [random.int(1, shape.length - 1), random.chance()]) : undefined;

const spread =
  (name: 'var' | 'std'): Draw =>
  (random, shape) => {
    const axis = random.int(1, shape.length - 1);
    if (shape.length < 2 || shape[axis] < 3) return undefined;
    const [unbiased, keepdim] = [random.chance(), random.chance()];
    return method(name, [[axis], Number(unbiased), keepdim], {
      args: [],
      options: { dim: axis, unbiased, keepdim },
    });
  };

/** Concatenated with the tensor itself, so that a gradient exists. */
const beside = (join: Branches['join'], ...path: readonly Call[]): Branches => ({
  kind: 'branches',
  join,
  paths: [[], path],
});

const comparison =
  (name: string): Draw =>
  (random, shape) =>
    beside('mul', method(name, [random.chance() ? 0.1 : numbers(shape, 9)]), method('float'));

/** Whole numbers of a multiple. */
const whole =
  (name: string): Draw =>
  () =>
    beside('add', method('tanh'), method('mul', [2.7]), method(name));

const matrices = (shape: readonly number[]) => shape.length >= 2;

/** Operations of tensors. A new one needs an entry here. */
export const operations: Readonly<Record<string, Draw>> = {
  add: binary('add'),
  sub: binary('sub'),
  mul: binary('mul'),
  div: binary('div', true),
  maximum: (random, shape) => method('maximum', [numbers(broadcasting(random, shape), 7)]),
  minimum: (random, shape) => method('minimum', [numbers(broadcasting(random, shape), 8)]),
  neg: unary('neg'),
  abs: unary('abs'),
  exp: bounded('exp', 2),
  log: positive('log'),
  sqrt: positive('sqrt'),
  rsqrt: positive('rsqrt'),
  reciprocal: positive('reciprocal'),
  square: unary('square'),
  pow: (random) => positive('pow', random.pick([2, 3, -1, 0.5, 1.7]))(random, [], 'float32'),
  sin: bounded('sin', 3),
  cos: bounded('cos', 3),
  tan: bounded('tan', 1.2),
  asin: bounded('asin', 0.9),
  acos: bounded('acos', 0.9),
  atan: unary('atan'),
  sinh: bounded('sinh', 2),
  cosh: bounded('cosh', 2),
  asinh: unary('asinh'),
  acosh: () => [method('abs'), method('add', [1.5]), method('acosh')],
  atanh: bounded('atanh', 0.9),
  tanh: unary('tanh'),
  sigmoid: unary('sigmoid'),
  erf: unary('erf'),
  sign: () => beside('add', method('sign')),
  floor: whole('floor'),
  ceil: whole('ceil'),
  round: whole('round'),
  trunc: whole('trunc'),
  frac: bounded('frac', 2.7),
  remainder: bounded('remainder', 2.7, 0.7),
  fmod: bounded('fmod', 2.7, 0.7),
  clamp: (random) => method('clamp', [random.pick([null, -0.4]), 0.6]),
  lerp: (_, shape) => method('lerp', [numbers(shape, 11), 0.3]),
  logaddexp: (random, shape) => method('logaddexp', [numbers(broadcasting(random, shape), 12)]),
  nanToNum: unary('nanToNum'),
  softmax: (random, shape) => method('softmax', [axisOf(random, shape)]),
  logSoftmax: (random, shape) => method('logSoftmax', [axisOf(random, shape)]),
  sum: reduction('sum'),
  mean: reduction('mean'),
  amax: reduction('amax'),
  amin: reduction('amin'),
  logsumexp: reduction('logsumexp'),
  max: along('max'),
  min: along('min'),
  median: along('median'),
  prod: along('prod'),
  var: spread('var'),
  std: spread('std'),
  norm: (random, shape) => {
    if (shape.length < 2) return undefined;
    const [p, axis, keep] = [random.pick([1, 2, 3]), random.int(1, shape.length - 1), random.chance()];
    return method('norm', [p, [axis], keep]);
  },
  cumsum: (random, shape) => method('cumsum', [axisOf(random, shape)]),
  sort: (random, shape) => method('sort', [axisOf(random, shape), random.chance()]),
  topk: (random, shape) => {
    const axis = random.int(0, shape.length - 1);
    return method('topk', [random.int(1, shape[axis]), axis, random.chance()]);
  },
  kthvalue: (random, shape) => {
    const axis = random.int(1, shape.length - 1);
    return shape.length > 1 ? method('kthvalue', [random.int(1, shape[axis]), axis, true]) : undefined;
  },
  argmax: (random, shape) => {
    const axis = random.int(0, shape.length - 1);
    return shape.length > 1 ? beside('add', method('argmax', [axis, true]), method('float')) : undefined;
  },
  diff: (random, shape) => {
    const axis = random.int(0, shape.length - 1);
    return shape[axis] > 2 ? method('diff', [random.int(1, 2), axis]) : undefined;
  },
  eq: comparison('eq'),
  ne: comparison('ne'),
  lt: comparison('lt'),
  le: comparison('le'),
  gt: comparison('gt'),
  ge: comparison('ge'),
  maskedFill: (random, shape) =>
    method('maskedFill', [mask(shape.slice(random.int(0, shape.length - 1))), -0.3]),
  where: (random, shape) => method('where', [mask(shape), numbers(broadcasting(random, shape), 13)]),
  view: (_, shape) => (shape.length > 2 ? method('view', [shape[0], shape[1], -1]) : undefined),
  reshape: (_, shape) => (shape.length > 1 ? method('reshape', [shape[0], -1]) : undefined),
  flatten: (random, shape) => (shape.length > 2 ? method('flatten', [random.int(0, 1)]) : undefined),
  permute: (random, shape) => method('permute', random.shuffled([...shape.keys()])),
  transpose: (random, shape) => method('transpose', [axisOf(random, shape), axisOf(random, shape)]),
  movedim: (random, shape) => method('movedim', [axisOf(random, shape), axisOf(random, shape)]),
  unsqueeze: (random, shape) =>
    shape.length < 5 ? method('unsqueeze', [random.int(-shape.length - 1, shape.length)]) : undefined,
  squeeze: (_, shape) => {
    const axis = shape.indexOf(1);
    return axis >= 0 && shape.length > 2 ? method('squeeze', [axis]) : undefined;
  },
  expand: (random, shape) =>
    shape.length < 4 ? method('expand', [random.int(1, 3), ...shape.map(() => -1)]) : undefined,
  repeat: (random, shape) =>
    method(
      'repeat',
      shape.map(() => random.int(1, 2)),
    ),
  repeatInterleave: (random, shape) => method('repeatInterleave', [2, random.int(0, shape.length - 1)]),
  unfold: (random, shape) => {
    const axis = random.int(0, shape.length - 1);
    const size = random.int(1, Math.min(3, shape[axis]));
    return shape.length < 5 ? method('unfold', [axis, size, random.int(1, 3)]) : undefined;
  },
  tril: (random, shape) => (matrices(shape) ? method('tril', [random.int(-1, 2)]) : undefined),
  triu: (random, shape) => (matrices(shape) ? method('triu', [random.int(-2, 1)]) : undefined),
  diagonal: (_, shape) => (shape.length > 2 ? method('diagonal', [0, -2, -1]) : undefined),
  narrow: (random, shape) => {
    const axis = random.int(0, shape.length - 1);
    const start = random.int(0, shape[axis] - 1);
    return method('narrow', [axis, start, random.int(1, shape[axis] - start)]);
  },
  select: (random, shape) => {
    const axis = random.int(1, shape.length - 1);
    return shape.length > 2 ? method('select', [axis, random.int(-shape[axis], shape[axis] - 1)]) : undefined;
  },
  indexSelect: (random, shape) => {
    const axis = random.int(0, shape.length - 1);
    return method('indexSelect', [axis, integers([random.int(1, 6)], shape[axis])]);
  },
  gather: (random, shape) => {
    const axis = random.int(0, shape.length - 1);
    return method('gather', [axis, integers(shape.with(axis, random.int(1, 4)), shape[axis])]);
  },
  take: (random, shape) =>
    method('take', [
      integers(
        [random.int(2, 4), 3],
        shape.reduce((count, size) => count * size, 1),
      ),
    ]),
  scatterAdd: (random, shape) => {
    const axis = random.int(0, shape.length - 1);
    return method('scatterAdd', [axis, integers(shape, shape[axis]), numbers(shape, 14)]);
  },
  split: (random, shape) => {
    const axis = random.int(0, shape.length - 1);
    return method('split', [random.int(1, shape[axis]), axis]);
  },
  chunk: (random, shape) => {
    const axis = random.int(0, shape.length - 1);
    return method('chunk', [random.int(1, shape[axis]), axis]);
  },
  flip: (random, shape) => method('flip', [random.int(0, shape.length - 1)]),
  roll: (random, shape) => method('roll', [random.int(-5, 5), random.int(0, shape.length - 1)]),
  matmul: (random, shape) => {
    const [inner, columns] = [shape.at(-1)!, random.int(1, 5)];
    const leading = random.chance() ? shape.slice(0, -2) : [];
    return matrices(shape) ? method('matmul', [numbers([...leading, inner, columns], 15)]) : undefined;
  },
  mv: (_, shape) =>
    shape.length === 2 ? [method('mv', [numbers([shape[1]], 16)]), method('unsqueeze', [1])] : undefined,
  scaledDotProductAttention: (random, shape) =>
    shape.length > 2
      ? {
          ...called(
            'scaledDotProductAttention',
            [],
            random.some({ isCausal: () => random.chance(), scale: () => 0.4 }),
          ),
          times: 3,
        }
      : undefined,
  normalize: (random, shape) =>
    shape.length > 1
      ? called('normalize', [], random.some({ dim: () => random.int(0, shape.length - 1), p: () => 3 }))
      : undefined,
} satisfies Record<string, Draw>;
