import { describe, expect, test } from 'vitest';
import { ArgumentError, cat, compileStep, F, optim, Parameter, Tensor, tensor } from '../../src/index.ts';
import { mul } from '../../src/ops/elementwise.ts';
import { fill } from '../support/fill.ts';

// Indices out of range are rejected as in torch: those of a tensor at the call, computed ones when the graph runs.

const x = () => new Parameter(fill([3, 4], 1), [3, 4]);
const int64 = (...integers: number[]) => tensor(BigInt64Array.from(integers, BigInt));
/** The same indices, unknown at the call. */
const computed = (indices: Tensor) =>
  new Tensor(mul(indices.value, tensor(new BigInt64Array(indices.numel()).fill(1n), indices.shape).value));

/** Functions with indices from `least` to `most`. */
const functions: Readonly<
  Record<string, { least: number; most: number; call: (index: Tensor) => Tensor; expected: string }>
> = {
  at: { least: -4, most: 3, call: (i) => x().at([], i), expected: 'positions from -4 to 3' },
  indexSelect: { least: 0, most: 3, call: (i) => x().indexSelect(1, i), expected: 'positions from 0 to 3' },
  gather: {
    least: 0,
    most: 3,
    call: (i) => x().gather(1, i.view(1, 1)),
    expected: 'positions from 0 to 3',
  },
  take: { least: -12, most: 11, call: (i) => x().take(i), expected: 'positions from -12 to 11' },
  scatter: {
    least: 0,
    most: 2,
    call: (i) => x().scatter(0, i.view(1, 1), 7),
    expected: 'positions from 0 to 2',
  },
  scatterAdd: {
    least: 0,
    most: 3,
    call: (i) => x().scatterAdd(1, i.view(1, 1).expand(3, 1), tensor(fill([3, 1], 1), [3, 1])),
    expected: 'positions from 0 to 3',
  },
  embedding: { least: 0, most: 2, call: (i) => F.embedding(i, x()), expected: 'rows from 0 to 2' },
  embeddingBag: {
    least: 0,
    most: 2,
    call: (i) => F.embeddingBag(i.view(1, 1), x()),
    expected: 'rows from 0 to 2',
  },
  oneHot: { least: 0, most: 4, call: (i) => F.oneHot(i, 5), expected: 'classes from 0 to 4' },
  crossEntropy: {
    least: 0,
    most: 3,
    call: (i) => F.crossEntropy(x().narrow(0, 0, 1), i),
    expected: 'targets from 0 to 3 or ignoreIndex (-100)',
  },
  nllLoss: {
    least: 0,
    most: 3,
    call: (i) => F.nllLoss(x().narrow(0, 0, 1), i),
    expected: 'targets from 0 to 3 or ignoreIndex (-100)',
  },
  multiMarginLoss: {
    least: 0,
    most: 3,
    call: (i) => F.multiMarginLoss(x().narrow(0, 0, 1), i),
    expected: 'targets from 0 to 3',
  },
};

describe.each(Object.entries(functions))('%s', (name, { least, most, call, expected }) => {
  test.each([least, most])('accepts index %i, known or computed', async (index) => {
    const known = await call(int64(index)).array();
    expect([...(await call(computed(int64(index))).array())]).toEqual([...known]);
  });

  test.each([least - 1, most + 1, 2 ** 40, -(2 ** 40)])(
    'rejects index %i, known or computed',
    async (index) => {
      const error = new ArgumentError(`${name}: expected ${expected}, got ${index} at index 0.`);
      expect(await failureOf(() => call(int64(index)).array())).toEqual(error);
      expect(await failureOf(() => call(computed(int64(index))).array())).toEqual(error);
      const result = failureOf(() => call(computed(int64(index))).arraySync());
      expect(await result).toEqual(error);
    },
  );
});

test('losses accept computed targets that are ignored, even out of range', async () => {
  const targets = computed(int64(1, -100, 3));
  const [some, all] = [F.crossEntropy(x(), targets), F.crossEntropy(x(), int64(1, -100, 3))];
  expect(await some.item()).toBe(await all.item());
  expect(await F.nllLoss(x(), computed(int64(9, 9, 9)), { ignoreIndex: 9, reduction: 'sum' }).item()).toBe(0);
});

test('errors distinguish several functions of one graph', async () => {
  const read = (first: number, second: number) =>
    cat([x().indexSelect(0, computed(int64(first))), x().indexSelect(0, computed(int64(second)))]).array();
  expect([...(await read(0, 0))].length).toBe(8);
  expect(await failureOf(() => read(0, 5))).toEqual(
    new ArgumentError('indexSelect: expected positions from 0 to 2, got 5 at index 0.'),
  );
});

test('errors about lengths and targets name ctcLoss', async () => {
  const logProbs = new Parameter(fill([3, 1, 4], 1), [3, 1, 4]);
  const loss = F.ctcLoss(logProbs, tensor([1n, 2n], [1, 2]), [9], [2]);
  expect(await failureOf(() => loss.item())).toEqual(
    new ArgumentError('ctcLoss: expected input lengths from 0 to 3, got 9 in sample 0.'),
  );
});

test('a compiled step rejects an index in a later batch, and changes nothing', async () => {
  const table = new Parameter(fill([3, 2], 1), [3, 2]);
  const step = compileStep(new optim.SGD([table], { lr: 0.1 }), (rows: Tensor) =>
    F.embedding(rows.add(tensor([0n, 0n])), table).sum(),
  );
  await step(int64(0, 2));
  const before = [...table.data];
  await expect(step(int64(0, 3))).rejects.toThrow('embedding: expected rows from 0 to 2, got 3 at index 1.');
  expect([...table.data]).toEqual(before);
  await step(int64(1, 1));
});

test('sampling a grid at NaN and infinities reads no pixel out of range', async () => {
  const image = new Parameter(fill([1, 1, 2, 2], 1), [1, 1, 2, 2]);
  const places = [NaN, 0, Infinity, 0, -Infinity, 0, 1e30, 0];
  const grid = tensor(Float32Array.from(places), [1, 1, 4, 2]);
  const nearest = await F.gridSample(image, grid, { mode: 'nearest' }).array();
  expect([...nearest]).toEqual([0, 0, 0, 0]);
});

async function failureOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  return undefined;
}
