import type { Tensor } from '../../../src/index.ts';
import { NoCounterpart, type Given } from '../given.ts';
import { op, type Operation } from '../operation.ts';

/** torch converts the elements to `dtype` first. */
function converted(x: Tensor, given: Given): Tensor {
  const dtype = given.dtype('dtype');
  return dtype === undefined ? x : x.to(dtype);
}

type OverAxes = 'sum' | 'mean' | 'amax' | 'amin' | 'logsumexp' | 'nansum' | 'nanmean' | 'all' | 'any';
const reduction = (name: OverAxes): Operation =>
  op('dim keepdim', (x, given) => {
    const result = converted(x, given)[name](given.numbers('dim'), given.flag('keepdim'));
    const dtype = given.dtype('dtype');
    return dtype === undefined ? result : result.to(dtype);
  });

const spread = (name: 'var' | 'std'): Operation =>
  op('dim unbiased keepdim', (x, given) => {
    // x.var(true): the only positional argument is `unbiased`.
    if (typeof given.any('dim') === 'boolean') return x[name](undefined, given.flag('dim') ? 1 : 0);
    const unbiased = given.flag('unbiased');
    const correction = unbiased === undefined ? given.number('correction') : Number(unbiased);
    return x[name](given.numbers('dim'), correction, given.flag('keepdim'));
  });

const position = (name: 'argmax' | 'argmin'): Operation =>
  op('dim keepdim', (x, given) => x[name](given.number('dim'), given.flag('keepdim')));

const extreme = (name: 'max' | 'min'): Operation =>
  op('dim keepdim', (x, given) => {
    const dim = given.any('dim');
    if (typeof dim === 'object') return x[name === 'max' ? 'maximum' : 'minimum'](given.tensor('dim'));
    if (given.has('other')) return x[name === 'max' ? 'maximum' : 'minimum'](given.tensor('other'));
    return dim === undefined ? x[name]() : x[name](given.number('dim')!, given.flag('keepdim'));
  });

/** Values, and positions, which torch leaves unspecified for equal elements. */
const valuesFirst = { open: [1] };

/** Sums and other reductions, and sorting. */
export const reductions: Readonly<Record<string, Operation>> = {
  sum: reduction('sum'),
  mean: reduction('mean'),
  amax: reduction('amax'),
  amin: reduction('amin'),
  logsumexp: reduction('logsumexp'),
  nansum: reduction('nansum'),
  nanmean: reduction('nanmean'),
  all: reduction('all'),
  any: reduction('any'),
  var: spread('var'),
  std: spread('std'),
  argmax: position('argmax'),
  argmin: position('argmin'),
  max: { ...extreme('max'), ...valuesFirst },
  min: { ...extreme('min'), ...valuesFirst },
  prod: op('dim keepdim', (x, given) => {
    const result = converted(x, given).prod(given.number('dim'), given.flag('keepdim'));
    const dtype = given.dtype('dtype');
    return dtype === undefined ? result : result.to(dtype);
  }),
  count_nonzero: op('dim', (x, given) => x.countNonzero(given.numbers('dim'))),
  norm: op('p dim keepdim', (x, given) => {
    const p = given.any('p') ?? 'fro';
    if (p === 'nuc') throw new NoCounterpart("`p='nuc'`");
    const value = converted(x, given);
    return value.norm(p === 'fro' ? 2 : given.number('p'), given.numbers('dim'), given.flag('keepdim'));
  }),
  dist: op('other p', (x, given) => x.dist(given.tensor('other'), given.number('p'))),
  cumsum: op('dim', (x, given) => converted(x, given).cumsum(given.number('dim')!)),
  diff: op('n dim prepend append', (x, given) => x.diff(given.number('n'), given.number('dim'))),
  sort: op(
    'dim descending stable',
    (x, given) => {
      given.ignore('stable');
      return x.sort(given.number('dim'), given.flag('descending'));
    },
    valuesFirst,
  ),
  argsort: op(
    'dim descending stable',
    (x, given) => {
      given.ignore('stable');
      return x.argsort(given.number('dim'), given.flag('descending'));
    },
    { open: [0] },
  ),
  topk: op(
    'k dim largest sorted',
    (x, given) => {
      if (given.flag('sorted') === false) throw new NoCounterpart('`sorted=False`');
      return x.topk(given.number('k')!, given.number('dim'), given.flag('largest'));
    },
    valuesFirst,
  ),
  kthvalue: op(
    'k dim keepdim',
    (x, given) => x.kthvalue(given.number('k')!, given.number('dim'), given.flag('keepdim')),
    valuesFirst,
  ),
  median: op(
    'dim keepdim',
    (x, given) => {
      const dim = given.number('dim');
      return dim === undefined ? x.median() : x.median(dim, given.flag('keepdim'));
    },
    valuesFirst,
  ),
  softmax: op('dim', (x, given) => converted(x, given).softmax(given.number('dim')!)),
  log_softmax: op('dim', (x, given) => converted(x, given).logSoftmax(given.number('dim')!)),
};
