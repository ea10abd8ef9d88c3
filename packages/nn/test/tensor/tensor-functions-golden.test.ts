import { cdist, F, tensor, where, type Tensor, type ValuesAndIndices } from '../../src/index.ts';
import { fill, fillClasses, fillCoarse } from '../support/fill.ts';
import { checkGolden, goldenFile, type GoldenCase } from '../support/golden-cases.ts';
import '../support/one-thread.ts';

// PyTorch's numbers, as written by `test/golden/tensor_functions.py`.

const integers = tensor(fillClasses(12, 7, 1), [3, 4]).sub(tensor([3]));
const coarse = (shape: readonly number[], seed: number) => tensor(fillCoarse(shape, seed), shape);
const filled = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape);

/** Values, and positions as factors. */
const both = ({ values, indices }: ValuesAndIndices) => values.mul(indices.float().add(1));

/** NaN at some elements, with no gradient there. */
const holes = (x: Tensor) => where(coarse(x.shape, 3).eq(1), NaN, x);

/** NaN and infinities at some elements. */
const special = (x: Tensor) =>
  where(coarse(x.shape, 3).eq(1), Infinity, where(coarse(x.shape, 3).eq(0), x, -Infinity));

/** The functions of tensor_functions.py, under the same names. */
const functions: Readonly<Record<string, (...inputs: Tensor[]) => Tensor>> = {
  asin: (x) => x.mul(0.9).asin(),
  acos: (x) => x.mul(0.9).acos(),
  atan: (x) => x.mul(3).atan(),
  sinh: (x) => x.mul(3).sinh(),
  cosh: (x) => x.mul(3).cosh(),
  asinh: (x) => x.mul(3).asinh(),
  acosh: (x) => x.add(2.5).acosh(),
  atanh: (x) => x.mul(0.9).atanh(),
  trunc: (x) => x.mul(x.mul(4).trunc()),
  frac: (x) => x.mul(4).frac(),
  remainder: (x, y) => x.mul(4).remainder(y),
  'remainder of a number': (x) => x.mul(4).remainder(0.75),
  'remainder of integers': (x) => x.mul(integers.remainder(2).float()).add(integers.remainder(-3).float()),
  fmod: (x, y) => x.mul(4).fmod(y),
  'fmod of integers': (x) => x.mul(integers.fmod(2).float()),
  floorDivide: (x) => x.mul(x.mul(4).floorDivide(0.75)),
  'floorDivide of integers': (x) =>
    x.mul(integers.floorDivide(2).float()).add(integers.floorDivide(-2).float()),
  exp2: (x) => x.mul(3).exp2(),
  expm1: (x) => x.mul(4).expm1(),
  'expm1 of small': (x) => x.mul(1e-5).expm1().mul(1e4),
  logit: (x) => x.mul(0.4).add(0.5).logit(),
  'logit with eps': (x) => x.mul(0.6).add(0.5).logit(0.125),
  logaddexp: (x, y) => x.mul(90).logaddexp(y.mul(90)),
  xlogy: (x, y) => x.mul(coarse([3, 5], 3).eq(1).float()).xlogy(y.add(2)),
  nanToNum: (x) => holes(x).nanToNum(0.5),
  'nanToNum of infinities': (x) => special(x).nanToNum(0, 3.5, -2.5),
  isinf: (x) => x.mul(special(x).isinf().float()),
  isfinite: (x) => x.mul(special(x).isfinite().float()),
  isclose: (x) =>
    x.mul(
      special(x)
        .isclose(special(x.mul(1.2)), 0.1, 0.05)
        .float(),
    ),
  prod: (x) => x.prod(),
  'prod of a dimension': (x) => x.prod(1),
  'prod with a zero': (x) => x.mul(coarse([3, 7], 3).ne(1).float()).prod(1, true),
  kthvalue: (x) => both(x.kthvalue(3)),
  'kthvalue, kept': (x) => both(x.kthvalue(7, 0, true)),
  median: (x) => x.median().mul(x),
  'median of a dimension': (x) => both(x.median(1)),
  nansum: (x) => holes(x).nansum([1]),
  nanmean: (x) => holes(x).nanmean([0], true),
  countNonzero: (x) => x.mul(coarse([3, 5], 3).countNonzero([0]).float()),
  dist: (x, y) => x.dist(y),
  'dist 3': (x, y) => x.dist(y, 3),
  diff: (x) => x.diff(),
  'diff twice': (x) => x.diff(2, 0),
  viewAs: (x, y) => x.viewAs(y).mul(y),
  ravel: (x) => x.ravel(),
  tile: (x) => x.tile(2),
  'tile more': (x) => x.tile(2, 1, 2),
  repeatInterleave: (x) => x.repeatInterleave(2),
  'repeatInterleave of a dimension': (x) => x.repeatInterleave(3, 1),
  unfold: (x) => x.unfold(0, 3, 2),
  'unfold of the last': (x) => x.unfold(-1, 4, 1),
  mm: (x, y) => x.mm(y),
  bmm: (x, y) => x.bmm(y),
  mv: (x, y) => x.mv(y),
  dot: (x, y) => x.dot(y),
  outer: (x, y) => x.outer(y),
  addmm: (x, y, z) => x.addmm(y, z, { beta: 0.5, alpha: 2 }),
  baddbmm: (x, y, z) => x.baddbmm(y, z, { alpha: 2 }),
  mT: (x) => x.mT,
  diagonal: (x) => x.diagonal(),
  'diagonal above': (x) => x.diagonal(1, 1, 2),
  'diagonal below': (x) => x.diagonal(-2, -1, 0),
  'diag of a matrix': (x) => x.diag(-1),
  'diag of a vector': (x) => x.diag(),
  'diag above': (x) => x.diag(2),
  'diag below': (x) => x.diag(-1),
  trace: (x) => x.trace(),
  normalize: (x) => F.normalize(x),
  'normalize 1': (x) => F.normalize(x, { p: 1, dim: -1 }),
  oneHot: (x) => x.mul(F.oneHot(integers.add(tensor([3])).remainder(7), 7).float()),
  softmin: (x) => F.softmin(x, 1),
  bilinear: (x, y, weight, bias) => F.bilinear(x, y, weight, bias),
  channelShuffle: (x) => F.channelShuffle(x, 3),
  localResponseNorm: (x) => F.localResponseNorm(x, 3, { alpha: 0.5, beta: 0.75, k: 2 }),
  'localResponseNorm, even': (x) => F.localResponseNorm(x, 4, { alpha: 0.5 }),
  multiMarginLoss: (x) => F.multiMarginLoss(x, tensor(fillClasses(4, 5, 2))),
  'multiMarginLoss, squares': (x) =>
    F.multiMarginLoss(x, tensor(fillClasses(4, 5, 2)), {
      p: 2,
      margin: 0.5,
      weight: filled([5], 7).add(2),
      reduction: 'sum',
    }),
  multilabelSoftMarginLoss: (x) => F.multilabelSoftMarginLoss(x, coarse([4, 5], 3).gt(0).float()),
  tripletMarginWithDistanceLoss: (x, y, z) =>
    F.tripletMarginWithDistanceLoss(x, y, z, {
      distanceFunction: (a, b) => a.sub(b).abs().sum([1]),
      margin: 0.5,
      swap: true,
    }),
  cdist: (x, y) => cdist(x, y),
  'cdist 1': (x, y) => cdist(x, y, 1),
  affineGrid: (x) => F.affineGrid(x, [2, 1, 3, 4]),
  'affineGrid, corners': (x) => F.affineGrid(x, [2, 1, 3, 4], { alignCorners: true }),
  gridSample: (x, y) => F.gridSample(x, y.mul(1.3)),
  'gridSample, border': (x, y) => F.gridSample(x, y.mul(1.3), { paddingMode: 'border', alignCorners: true }),
  'gridSample, reflection': (x, y) => F.gridSample(x, y.mul(3.1), { paddingMode: 'reflection' }),
  'gridSample, reflection, corners': (x, y) =>
    F.gridSample(x, y.mul(3.1), { paddingMode: 'reflection', alignCorners: true }),
  'gridSample, nearest': (x, y) =>
    F.gridSample(x, y.mul(1.3), { mode: 'nearest', alignCorners: true }).add(y.mul(0).sum()),
};

checkGolden(goldenFile('tensor_functions') as readonly GoldenCase[], functions);
