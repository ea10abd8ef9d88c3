import { expect, test } from 'vitest';
import { Parameter, tensor, type Tensor, type ValuesAndIndices } from '../../src/index.ts';
import '../support/one-thread.ts';

// torch treats a tensor without dimensions as having dimension 0, or −1, with one element.

const scalar = () => new Parameter(Float32Array.of(2), []);
const place = (...shape: number[]) => tensor([0n], shape);

const unchanged: Readonly<Record<string, (x: Tensor) => Tensor | ValuesAndIndices>> = {
  sum: (x) => x.sum([0], true),
  mean: (x) => x.mean([-1]),
  amax: (x) => x.amax([0]),
  amin: (x) => x.amin([-1], true),
  logsumexp: (x) => x.logsumexp([0]),
  norm: (x) => x.norm(2, [0]),
  max: (x) => x.max(0, true),
  min: (x) => x.min(-1),
  prod: (x) => x.prod(0),
  cumsum: (x) => x.cumsum(-1),
  median: (x) => x.median(0),
  sort: (x) => x.sort(),
  topk: (x) => x.topk(1),
  kthvalue: (x) => x.kthvalue(1, 0),
  squeeze: (x) => x.squeeze(0),
  transpose: (x) => x.transpose(0, -1),
  movedim: (x) => x.movedim(0, -1),
  flip: (x) => x.flip(0),
  gather: (x) => x.gather(0, place()),
  indexSelect: (x) => x.indexSelect(0, place(1)),
};

test.each(Object.entries(unchanged))('%s of a tensor without dimensions is its element', async (_, call) => {
  const x = scalar();
  const result = call(x);
  const values = 'values' in result ? result.values : result;
  expect(values.shape).toEqual([]);
  expect(await values.item()).toBeCloseTo(2);
  await values.backward();
  expect(x.grad).toEqual(Float32Array.of(1));
});

test('positions, scaled elements and replaced elements also have no dimensions', async () => {
  const results = [
    scalar().argmax(0),
    scalar().topk(1, 0).indices,
    scalar().softmax(0),
    scalar().logSoftmax(-1),
    scalar().scatter(0, place(), 3),
    scalar().scatterAdd(0, place(1), tensor(Float32Array.of(3))),
  ];
  expect(results.map(({ shape }) => shape)).toEqual([[], [], [], [], [], []]);
  expect(await Promise.all(results.map((one) => one.item()))).toEqual([0, 0, 1, 0, 3, 5]);
});

test('gather has the shape of its index, with or without dimensions', async () => {
  const x = tensor(Float32Array.of(5, 6, 7));
  const one = x.gather(0, tensor([2n], []));
  expect([one.shape, await one.item()]).toEqual([[], 7]);
  const twice = scalar().gather(0, tensor([0n, 0n]));
  expect(await twice.array()).toEqual(Float32Array.of(2, 2));
});

test('flatten returns one dimension; unfold returns windows', () => {
  expect(scalar().flatten(0).shape).toEqual([1]);
  expect(scalar().unfold(0, 1, 1).shape).toEqual([1]);
});

test('another dimension is out of range', () => {
  expect(() => scalar().softmax(1)).toThrow('expected axes from 0 to -1 for float32[], got 1');
  expect(() => scalar().sum([1])).toThrow('expected axes from -1 to 0 for float32[], got 1');
  expect(() => scalar().select(0, 0)).toThrow('got 0');
});
