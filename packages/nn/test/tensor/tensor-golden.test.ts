import { cat, einsum, tensor, where, type Tensor, type ValuesAndIndices } from '../../src/index.ts';
import { fill, fillClasses, fillCoarse } from '../support/fill.ts';
import { checkGolden, goldenCases } from '../support/golden-cases.ts';
import '../support/one-thread.ts';

// PyTorch's numbers, as written by `test/golden/tensors.py`.

const golden = goldenCases('tensors');

const index = tensor(fillClasses(12, 3, 1), [4, 3]);
const coarse = (shape: readonly number[], seed: number) => tensor(fillCoarse(shape, seed), shape);
const mask = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape).gt(0);
const positions = (...values: number[]) => tensor(values);

/** Values, and positions as factors. */
const both = ({ values, indices }: ValuesAndIndices) => values.mul(indices.float().add(1));

/** The functions of tensors.py, under the same names. */
const cases: Readonly<Record<string, (...inputs: Tensor[]) => Tensor>> = {
  'at number': (x) => x.at(2),
  'at negative': (x) => x.at([], -1),
  'at slices': (x) => x.at([1, 3], [], [1, 5, 2]),
  'at slice from the end': (x) => x.at([-3]),
  'at slice to the end': (x) => x.at([null, -2], [null, 9]),
  'at empty slice': (x) => x.at([5, 2]).sum([0]).add(x.at(0)),
  'at dots': (x) => x.at('...', 2),
  'at dots between': (x) => x.at(1, '...', [1]),
  'at null': (x) => x.at([], null, [1]),
  'at tensor': (x) => x.at([], positions(2, 0, 2)),
  'at tensor, then number': (x) => x.at(positions(3, 3), [], 1),
  'at tensor without dimensions': (x) => x.at(tensor(-2)),
  'at tensor of two dimensions': (x) => x.at([], positions(2, 0, -1, 1).view(2, 2)),
  'at tensors': (x) => x.at(positions(3, -1, 0), positions(2, 0, 2)),
  'at tensors of the last dimensions': (x) => x.at([], positions(2, 0), positions(-5, 1)),
  'at tensors that broadcast': (x) => x.at(positions(3, 1).view(2, 1), positions(2, 0, 2)),
  'at tensors apart': (x) => x.at(positions(3, 1), [], positions(4, 0)),
  'at tensors around a number': (x) => x.at(positions(3, 1), 2, positions(4, 0)),
  'at tensors and null': (x) => x.at(positions(3, 1), null, positions(2, 0)),
  'at tensors behind a slice': (x) => x.at([1], '...', positions(4, 0)),
  narrow: (x) => x.narrow(1, 2, 3),
  'narrow from the end': (x) => x.narrow(-1, -3, 2),
  select: (x) => x.select(1, -2),
  indexSelect: (x) => x.indexSelect(0, positions(3, 1, 1)),
  'indexSelect, last': (x) => x.indexSelect(-1, positions(4, 0)),
  gather: (x) => x.gather(1, index),
  'gather, fewer rows': (x) => x.gather(0, index),
  take: (x) => x.take(index),
  scatter: (x, y) => x.scatter(1, index.at([], [0, 1]), y),
  'scatter number': (x) => x.scatter(1, index, 0.25),
  scatterAdd: (x, y) => x.scatterAdd(0, index, y),
  split: (x) => x.split(3)[2].mul(x.split(3)[0].at([0, 1])),
  'split sizes': (x) => cat(x.split([1, 4, 2], 1).toReversed(), 1),
  chunk: (x) => x.chunk(3)[0].mul(x.chunk(3)[1]),
  unbind: (x) => x.unbind(1)[3].mul(x.unbind(1)[0]),
  flip: (x) => x.flip(0, -1),
  roll: (x) => x.roll(2, 1),
  'roll back': (x) => x.roll(-7, 0),
  eq: (x) => x.mul(coarse([5, 6], 3).eq(1).float()),
  ne: (x) =>
    x.mul(
      coarse([5, 6], 3)
        .ne(coarse([6], 4))
        .float(),
    ),
  lt: (x, y) => x.mul(x.lt(y).float()).add(y),
  le: (x) => x.mul(coarse([5, 6], 3).le(0).float()),
  gt: (x) => x.mul(x.gt(0.25).float()),
  ge: (x) => x.mul(coarse([5, 6], 3).ge(0).float()),
  'comparison of integers': (x) => x.mul(index.gt(1).logicalOr(index.eq(0)).float()),
  logicalAnd: (x) =>
    x.mul(
      mask([5, 6], 1)
        .logicalAnd(mask([6], 2))
        .float(),
    ),
  logicalOr: (x) =>
    x.mul(
      mask([5, 6], 1)
        .logicalOr(coarse([6], 2))
        .float(),
    ),
  logicalXor: (x) =>
    x.mul(
      mask([5, 6], 1)
        .logicalXor(mask([5, 1], 2))
        .float(),
    ),
  logicalNot: (x) => x.mul(coarse([5, 6], 1).logicalNot().float()),
  isnan: (x) => x.maskedFill(x.sub(0.5).log().isnan(), 2),
  maskedFill: (x) => x.maskedFill(mask([6], 2), -3),
  where: (x, y) => where(mask([6], 2), x, y),
  'where number': (x) => x.where(mask([5, 6], 2), 2),
  sin: (x) => x.mul(3).sin(),
  cos: (x) => x.mul(3).cos(),
  tan: (x) => x.tan(),
  sign: (x) => x.mul(x.sign()),
  floor: (x) => x.mul(x.mul(5).floor()),
  ceil: (x) => x.mul(x.mul(5).ceil()),
  round: (x) => x.mul(x.mul(5).round()),
  square: (x) => x.square(),
  reciprocal: (x) => x.add(2).reciprocal(),
  rsqrt: (x) => x.add(2).rsqrt(),
  log1p: (x) => x.mul(0.5).log1p(),
  log2: (x) => x.add(2).log2(),
  log10: (x) => x.add(2).log10(),
  clamp: (x) => x.clamp(-0.5, 0.25),
  'clamp below': (x) => x.clamp(0.1),
  'clamp tensors': (x, y) => x.clamp(null, y),
  lerp: (x, y) => x.lerp(y, 0.3),
  casts: (x) => x.mul(x.mul(5).long().float()).add(x.mul(x.mul(3).long().bool().float())),
  max: (x) => x.max(),
  'max of a dimension': (x) => both(x.max(1)),
  'min of a dimension, kept': (x) => both(x.min(-1, true)),
  argmax: (x) => x.mul(x.argmax().float().add(1)),
  'argmax of a dimension': (x) => x.mul(x.argmax(0).float().add(1)),
  'argmin of a dimension, kept': (x) => x.mul(x.argmin(1, true).float().add(1)),
  topk: (x) => both(x.topk(3)),
  'topk, smallest': (x) => both(x.topk(4, 0, false)),
  sort: (x) => both(x.sort()),
  'sort descending': (x) => both(x.sort(0, true)),
  argsort: (x) => x.mul(x.argsort().float()),
  cumsum: (x) => x.cumsum(1),
  var: (x) => x.var(),
  'var of axes': (x) => x.var([0, -1], 0),
  'var of no axes': (x) => x.var([]),
  'norm of no axes': (x) => x.norm(2, []),
  std: (x) => x.std([1], 1, true),
  norm: (x) => x.norm(),
  'norm 1': (x) => x.norm(1, [0]),
  'norm 3': (x) => x.norm(3, [1], true),
  'norm infinity': (x) => x.norm(Infinity, [1]),
  'norm -infinity': (x) => x.norm(-Infinity, [1]),
  'norm of zeros': (x) => x.mul(0).norm().add(x.sum()),
  logsumexp: (x) => x.mul(50).logsumexp([1]),
  'logsumexp kept': (x) => x.logsumexp([0, 1], true),
  all: (x) => x.mul(coarse([3, 4], 2).all([0]).float()),
  any: (x) => x.mul(mask([3, 4], 2).any([1], true).float()),
  squeeze: (x) => x.squeeze(),
  'squeeze a dimension': (x) => x.squeeze(2).squeeze(1),
  expand: (x) => x.expand(2, -1, 4),
  expandAs: (x, y) => x.expandAs(y).mul(y),
  repeat: (x) => x.repeat(2, 1, 3),
  unflatten: (x) => x.unflatten(1, [2, -1]),
  movedim: (x) => x.movedim(0, -1),
  t: (x) => x.t(),
  tril: (x) => x.tril(1),
  triu: (x) => x.triu(-1),
  'einsum product': (x, y) => einsum('ij,jk->ik', x, y),
  'einsum implicit': (x, y) => einsum('bj,ja', x, y),
  'einsum of matrices': (x, y) => einsum('bij,bkj->bki', x, y),
  'einsum dots': (x, y) => einsum('...ij,...jk->...ik', x, y),
  'einsum diagonal': (x) => einsum('bii->bi', x),
  'einsum trace': (x) => einsum('ii->', x),
  'einsum outer': (x, y) => einsum('i,j->ji', x, y),
  'einsum sums': (x) => einsum('ijk->kj', x),
  'einsum of three': (x, y, z) => einsum('ij,jk,ik->i', x, y, z),
  'einsum bilinear': (x, y, z) => einsum('bn,anm,bm->ba', x, y, z),
  'matmul of attention': (x, y) => x.matmul(y.transpose(-2, -1)).tril().softmax(-1),
};

checkGolden(golden, cases);
