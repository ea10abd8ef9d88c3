import { describe, expect, test } from 'vitest';
import {
  fullLike,
  logspace,
  manualSeed,
  meshgrid,
  normal,
  rand,
  randint,
  randLike,
  randn,
  randnLike,
  randperm,
  tensor,
  zeros,
  type Tensor,
} from '../../src/index.ts';
import '../support/one-thread.ts';

const elements = async (x: Tensor) => [...(await x.array())];

// torch 1.13 after torch.manual_seed(3).
describe('numbers of torch', () => {
  test('randint', async () => {
    manualSeed(3);
    const small = randint(-2, 7, [2, 5]);
    expect(small).toMatchObject({ dtype: 'int64', shape: [2, 5] });
    expect(await elements(small)).toEqual([2n, 3n, -1n, 1n, -1n, 1n, 4n, 0n, 5n, -1n]);
    expect(await elements(randint(0, 2 ** 33, [3]))).toEqual([80522091n, 4469474985n, 1064672149n]);
  });

  test('randperm', async () => {
    manualSeed(3);
    expect(await elements(randperm(9))).toEqual([4n, 1n, 5n, 6n, 0n, 2n, 3n, 8n, 7n]);
    expect(await elements(randperm(4))).toEqual([1n, 2n, 0n, 3n]);
  });

  test('normal', async () => {
    manualSeed(3);
    expect(await elements(normal(2, 0.5, [3]))).toEqual([
      2.4016380310058594, 2.087416648864746, 2.0444891452789307,
    ]);
    expect(await elements(randn([3]))).toEqual([
      -0.6137180328369141, 0.04618244990706444, -1.3682591915130615,
    ]);
  });
});

test('tensors like others', async () => {
  manualSeed(5);
  const drawn = await Promise.all([rand([2, 3]), randn([2, 3])].map(elements));
  manualSeed(5);
  expect(await Promise.all([randLike(zeros([2, 3])), randnLike(zeros([2, 3]))].map(elements))).toEqual(drawn);
  expect(await elements(fullLike(tensor([1, 2]), 7))).toEqual([7n, 7n]);
});

test('logspace and meshgrid', async () => {
  expect(await elements(logspace(0, 2, 3))).toEqual([1, 10, 100]);
  expect(await elements(logspace(-1, 1, 3, 2))).toEqual([0.5, 1, 2]);
  const [rows, columns] = meshgrid(tensor([1, 2]), tensor([5, 6, 7]));
  expect(rows.shape).toEqual([2, 3]);
  expect(await elements(rows)).toEqual([1n, 1n, 1n, 2n, 2n, 2n]);
  expect(await elements(columns)).toEqual([5n, 6n, 7n, 5n, 6n, 7n]);
});

test('randint rejects an empty range', () => {
  expect(() => randint(3, 3, [2])).toThrow('randint: expected integers low < high, got 3 and 3.');
  expect(() => randint(0, 0.5, [2])).toThrow('randint: expected integers low < high, got 0 and 0.5.');
});
