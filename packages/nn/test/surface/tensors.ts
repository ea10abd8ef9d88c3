import { zeros, zerosLike, type Tensor } from '../../src/index.ts';
import { forEach, indices, type CallTable } from './calls.ts';

const row = (x: Tensor) => zeros([x.shape.at(-1) ?? 1, 2]);
const stacked = (x: Tensor) => zeros([x.shape[0] ?? 1, x.shape.at(-1) ?? 1, 2]);

/** A call of a method with overloads. */
const called = (x: Tensor, name: keyof Tensor, ...inputs: readonly unknown[]) =>
  (Reflect.get(x, name) as (...given: unknown[]) => unknown).apply(x, [...inputs]);

/** Every method and getter of a tensor that returns another one, or reads it. */
export const tensorCalls: CallTable = {
  ...forEach(
    [
      ...([
        'neg',
        'exp',
        'log',
        'relu',
        'sqrt',
        'abs',
        'tanh',
        'sigmoid',
        'erf',
        'detach',
        'ravel',
        't',
      ] as const),
      ...([
        'trace',
        'sign',
        'floor',
        'ceil',
        'round',
        'trunc',
        'frac',
        'square',
        'reciprocal',
        'rsqrt',
      ] as const),
      ...([
        'log1p',
        'log2',
        'log10',
        'exp2',
        'expm1',
        'logit',
        'nanToNum',
        'float',
        'bfloat16',
        'long',
        'bool',
      ] as const),
      ...(['sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'sinh', 'cosh', 'asinh', 'acosh', 'atanh'] as const),
      ...(['logicalNot', 'isnan', 'isinf', 'isfinite', 'elements', 'numel', 'dim', 'size', 'item'] as const),
      ...(['array', 'arraySync', 'itemSync'] as const),
    ],
    (name) => [(x) => x[name]()],
  ),
  ...forEach(['shape', 'dtype', 'ndim', 'mT', 'requiresGrad', 'isLeaf', 'grad'], (name) => [(x) => x[name]]),
  ...forEach(
    ['add', 'sub', 'mul', 'div', 'maximum', 'minimum', 'remainder', 'fmod', 'floorDivide'],
    (name) => [(x) => x[name](3), (x) => x[name](x), (x) => x[name](zeros([1]))],
  ),
  ...forEach(['eq', 'ne', 'lt', 'le', 'gt', 'ge'], (name) => [(x) => x[name](1), (x) => x[name](x)]),
  ...forEach(['logicalAnd', 'logicalOr', 'logicalXor', 'isclose', 'logaddexp', 'xlogy', 'dist'], (name) => [
    (x) => x[name](x),
  ]),
  ...forEach(['bitwiseAnd', 'bitwiseOr', 'bitwiseXor'], (name) => [(x) => x[name](x), (x) => x[name](true)]),
  bitwiseNot: [(x) => x.bitwiseNot()],
  ...forEach(['viewAs', 'reshapeAs', 'expandAs'], (name) => [(x) => x[name](zerosLike(x))]),
  ...forEach(['softmax', 'logSoftmax', 'cumsum', 'unsqueeze'], (name) => [
    (x) => x[name](0),
    (x) => x[name](-1),
  ]),
  ...forEach(['sum', 'mean', 'amax', 'amin', 'logsumexp', 'nansum', 'nanmean', 'all', 'any'], (name) => [
    (x) => x[name](),
    (x) => x[name]([0]),
    (x) => x[name]([-1], true),
  ]),
  ...forEach(['var', 'std'], (name) => [
    (x) => x[name](),
    (x) => x[name]([0], 0),
    (x) => x[name]([-1], 1, true),
  ]),
  ...forEach(['max', 'min', 'argmax', 'argmin', 'median', 'prod', 'sort', 'argsort'], (name) => [
    (x) => called(x, name),
    (x) => called(x, name, 0),
    (x) => called(x, name, -1, true),
  ]),
  ...forEach(['topk', 'kthvalue'], (name) => [(x) => x[name](0), (x) => x[name](1), (x) => x[name](1, 0)]),
  ...forEach(['diagonal', 'diag', 'triu', 'tril', 'diff'], (name) => [(x) => x[name](), (x) => x[name](1)]),
  ...forEach(['mm', 'bmm', 'mv', 'dot', 'outer', 'matmul'], (name) => [
    (x) => x[name](row(x)),
    (x) => x[name](stacked(x)),
    (x) => x[name](zeros([x.shape.at(-1) ?? 1])),
  ]),
  pow: [(x) => x.pow(x), ...[0, 0.5, 2, -1, 1.7].map((exponent) => (x: Tensor) => x.pow(exponent))],
  norm: [0, 0.5, 1, 2, 3, Infinity].flatMap((p) => [(x) => x.norm(p), (x) => x.norm(p, [0])]),
  countNonzero: [(x) => x.countNonzero(), (x) => x.countNonzero([0])],
  view: [(x) => x.view(-1), (x) => x.view(0, 3), (x) => x.view(3, 2)],
  reshape: [(x) => x.reshape(-1), (x) => x.reshape(2, 0, 5)],
  expand: [(x) => x.expand(2, ...x.shape), (x) => x.expand(0, ...x.shape)],
  permute: [(x) => x.permute(...x.shape.keys()), (x) => x.permute(1, 0)],
  transpose: [(x) => x.transpose(0, -1)],
  movedim: [(x) => x.movedim(0, -1)],
  flatten: [(x) => x.flatten(), (x) => x.flatten(1)],
  squeeze: [(x) => x.squeeze(), (x) => x.squeeze(0)],
  repeat: [(x) => x.repeat(...x.shape.map(() => 2)), (x) => x.repeat(0, 2)],
  tile: [(x) => x.tile(2), (x) => x.tile(0)],
  repeatInterleave: [(x) => x.repeatInterleave(2), (x) => x.repeatInterleave(0, 0)],
  unfold: [(x) => x.unfold(0, 1, 1), (x) => x.unfold(-1, 2, 1)],
  unflatten: [(x) => x.unflatten(0, [1, -1]), (x) => x.unflatten(-1, [0, 3])],
  addmm: [(x) => x.addmm(x, row(x)), (x) => zeros([2]).addmm(x, row(x))],
  baddbmm: [(x) => x.baddbmm(x, stacked(x))],
  clamp: [(x) => x.clamp(-0.5, 0.5), (x) => x.clamp(x)],
  lerp: [(x) => x.lerp(x, 0.5)],
  to: [(x) => x.to('float32'), (x) => x.to('int64'), (x) => x.to('bool')],
  maskedFill: [(x) => x.maskedFill(zeros(x.shape, { dtype: 'bool' }), 2)],
  where: [(x) => x.where(zeros(x.shape, { dtype: 'bool' }), x), (x) => x.where(x.eq(x), 1)],
  at: [
    (x) => x.at(0),
    (x) => x.at('...', [0, 1]),
    (x) => x.at(indices(x, [2])),
    (x) => x.at(indices(x, [0])),
  ],
  slice: [(x) => x.slice(0), (x) => x.slice(0, 1, 5, 2), (x) => x.slice(-1, 0, 0)],
  narrow: [(x) => x.narrow(0, 0, 0), (x) => x.narrow(0, 0, 1)],
  select: [(x) => x.select(0, 0), (x) => x.select(-1, -1)],
  indexSelect: [
    (x) => x.indexSelect(0, indices(x, [0])),
    (x) => x.indexSelect(0, indices(x, [2]).add(zeros([], { dtype: 'int64' }))),
  ],
  gather: [(x) => x.gather(0, indices(x)), (x) => x.gather(-1, indices(x).add(indices(x)))],
  take: [(x) => x.take(indices(x)), (x) => x.take(indices(x, [2]).add(indices(x, [2])))],
  scatter: [
    (x) => x.scatter(0, indices(x), 1),
    (x) => x.scatter(-1, indices(x), x),
    (x) => x.scatter(0, indices(x), zeros([0])),
  ],
  scatterAdd: [(x) => x.scatterAdd(0, indices(x), x), (x) => x.scatterAdd(0, indices(x), zeros([0]))],
  split: [(x) => x.split(1), (x) => x.split(2, -1)],
  chunk: [(x) => x.chunk(2), (x) => x.chunk(3, -1)],
  unbind: [(x) => x.unbind(), (x) => x.unbind(-1)],
  flip: [(x) => x.flip(0), (x) => x.flip(...x.shape.keys())],
  multinomial: [(x) => x.multinomial(1), (x) => x.multinomial(2, true), (x) => x.add(1).multinomial(2)],
  bernoulli: [(x) => x.bernoulli(), (x) => x.bernoulli(0.5)],
  roll: [(x) => x.roll(1, 0), (x) => x.roll(-2, -1)],
};

/** Methods that are tested separately: `backward` of every result, and internal ones. */
export const notCalled = [
  'toJSON',
  'constructor',
  'value',
  'of',
  'backward',
  'registerHook',
  'requiresGrad_',
  'retainGrad',
];
