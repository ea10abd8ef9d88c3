import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { einsum, tensor, zeros } from '../../src/index.ts';

const x = zeros([4, 3]);
const index = tensor([0, 1]);

test.each<[what: string, run: () => unknown, message: string]>([
  ['at', () => x.at(4), 'at: expected an index from -4 to 3 for dimension 0 of float32[4,3], got 4.'],
  [
    'too many indices',
    () => x.at(0, 0, 0),
    "at: expected at most 2 indices and one '...' for float32[4,3], got 3.",
  ],
  [
    'two dots',
    () => x.at('...', '...'),
    "at: expected at most 2 indices and one '...' for float32[4,3], got 0.",
  ],
  ['long slice', () => x.at([0, 1, 2, 3]), 'at: expected [start, end, step], got [0,1,2,3].'],
  [
    'a step back',
    () => x.at([null, null, -1]),
    'at: expected a step of at least 1, got -1. To reverse, call flip.',
  ],
  ['mm', () => x.mm(zeros([3])), 'mm: expected 2 and 2 dimensions, got float32[4,3] and float32[3].'],
  [
    'baddbmm',
    () => zeros([2, 4, 4]).baddbmm(zeros([1, 4, 3]), zeros([2, 3, 4])),
    'baddbmm: expected the same number of matrices, got float32[1,4,3] and float32[2,3,4]',
  ],
  ['diag', () => zeros([1, 1, 1]).diag(), 'diag: expected 1 or 2 dimensions, got float32[1,1,1].'],
  [
    'kthvalue',
    () => x.kthvalue(4),
    'kthvalue: expected k from 1 to 3 for dimension -1 of float32[4,3], got 4.',
  ],
  [
    'unfold',
    () => x.unfold(0, 5, 1),
    'unfold: expected a size from 1 to 4 and a step from 1, got 5 and 1 for dimension 0 of float32[4,3].',
  ],
  [
    'remainder',
    () => x.gt(0).remainder(x.gt(0)),
    'remainder: expected float32 or int64, got bool[4,3] and bool[4,3].',
  ],
  [
    'narrow',
    () => x.narrow(1, 2, 2),
    'narrow: expected a part of the 3 elements of dimension 1 of float32[4,3], got 2 from 2 on.',
  ],
  [
    'indexSelect',
    () => x.indexSelect(0, x),
    'indexSelect: expected int64 positions with 1 dimension, got float32[4,3].',
  ],
  [
    'gather',
    () => x.gather(1, index),
    'gather: expected an int64 index with 2 dimensions for float32[4,3], got int64[2].',
  ],
  [
    'scatterAdd',
    () => x.scatterAdd(1, index.view(2, 1).expand(2, 5).repeat(3, 1), zeros([6, 5])),
    'scatterAdd: expected an index at most as long as float32[4,3] except along dimension 1, got int64[6,5].',
  ],
  [
    'split',
    () => x.split([1, 2]),
    'split: expected sizes with the sum 4, dimension 0 of float32[4,3], got [1,2].',
  ],
  ['chunk', () => x.chunk(0), 'chunk: expected at least 1 part, got 0.'],
  ['topk', () => x.topk(4), 'topk: expected k from 0 to 3 for dimension -1 of float32[4,3], got 4.'],
  ['clamp', () => x.clamp(), 'clamp: expected min, max or both, got neither.'],
  [
    'to',
    () => x.to('float16' as 'float32'),
    `to: expected 'float32', 'bfloat16', 'int64' or 'bool', got "float16".`,
  ],
  [
    'expand',
    () => x.expand(4, 6),
    'expand: float32[4,3] cannot become [4,6]: only dimensions of size 1 are repeated.',
  ],
  [
    't',
    () => zeros([1, 2, 3]).t(),
    't: expected at most 2 dimensions, got float32[1,2,3]. Call transpose or permute.',
  ],
  [
    'tril',
    () => index.tril(),
    'tril: expected at least 2 dimensions and a whole diagonal, got int64[2] and 0.',
  ],
  ['var', () => index.var(), 'var: expected float32, got int64[2].'],
  [
    'einsum operands',
    () => einsum('ij,jk', x),
    "einsum: expected an equation such as 'ij,jk->ik' with 1 operands, got 'ij,jk'.",
  ],
  [
    'einsum dimensions',
    () => einsum('ijk->i', x),
    "einsum: expected an operand with the dimensions 'ijk', got float32[4,3].",
  ],
  [
    'einsum output',
    () => einsum('ij->ik', x),
    "einsum: expected letters of the operands after '->', each once, got 'ij->ik'.",
  ],
  [
    'einsum lengths',
    () => einsum('ij,ji->', x, x),
    "einsum: expected one length of 'j' in 'ij,ji->', got 3 and 4.",
  ],
  [
    'einsum diagonal',
    () => einsum('ii->i', x),
    "einsum: expected one length of 'i' in 'ii->i', got 4 and 3.",
  ],
])('%s: the error names the expected value', (_, run, message) => {
  expect(run).toThrow(message);
});

test('prints the elements that were read', async () => {
  const larger = tensor(Float32Array.of(1, 5, 3)).gt(2);
  expect([...(await larger.array())]).toEqual([0, 1, 1]);
  expect(inspect(larger)).toBe('Tensor bool[3] [0, 1, 1]');
});
