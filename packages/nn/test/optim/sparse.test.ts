import { expect, test } from 'vitest';
import {
  autocast,
  compileStep,
  F,
  nn,
  optim,
  Parameter,
  SparseGradient,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { fill } from '../support/fill.ts';

const [count, width] = [11, 3];
const batches = [
  [1, 5, 5, 9],
  [0, 5, 10, 10],
  [2, 2, 2, 2],
  [8, 1, 0, 3],
];

const rowsOf = (batch: readonly number[]) => tensor(BigInt64Array.from(batch, BigInt), [batch.length]);
const table = () => new Parameter(fill([count, width], 1), [count, width]);
const looked = (weight: Parameter, batch: readonly number[], sparse: boolean) =>
  F.embedding(rowsOf(batch), weight, { sparse });
const lossOf = (weight: Parameter, batch: readonly number[], sparse: boolean): Tensor => {
  const rows = looked(weight, batch, sparse);
  return rows.mul(rows).sum();
};

test('a step writes only the rows of the batch', async () => {
  const embedding = new nn.Embedding(10, 2, { sparse: true });
  embedding.weight.data.fill(1);
  const optimizer = new optim.SGD([embedding.weight], { lr: 0.5 });
  await embedding
    .forward(tensor(BigInt64Array.of(7n, 3n, 7n), [3]))
    .sum()
    .backward();
  const grad = embedding.weight.grad as SparseGradient;
  expect(grad).toBeInstanceOf(SparseGradient);
  expect(grad.indices()).toEqual(BigInt64Array.of(3n, 7n));
  expect([...grad]).toEqual([1, 1, 2, 2]);
  expect(grad.shape).toEqual([10, 2]);
  await optimizer.step();
  const expected = new Float32Array(20).fill(1);
  expected.set([0.5, 0.5], 6);
  expected.set([0, 0], 14);
  expect(embedding.weight.data).toEqual(expected);
  optimizer.zeroGrad();
  expect(embedding.weight.grad).toBeUndefined();
});

/** Trains with sparse and with dense gradients. */
async function both(
  train: (weight: Parameter, optimizer: optim.Optimizer, sparse: boolean) => Promise<void>,
): Promise<[sparse: Float32Array, dense: Float32Array]> {
  const run = async (sparse: boolean) => {
    const weight = table();
    await train(weight, new optim.SGD([weight], { lr: 0.1 }), sparse);
    return weight.data;
  };
  return [await run(true), await run(false)];
}

test.each([
  { clipGradNorm: 0.5 },
  { clipGradNorm: { maxNorm: 0.5, normType: Infinity } },
  { clipGradValue: 0.2 },
])('step(%o) clips the values of the rows', async (clipping) => {
  const [sparse, dense] = await both(async (weight, optimizer, isSparse) => {
    for (const batch of batches) {
      optimizer.zeroGrad();
      await lossOf(weight, batch, isSparse).backward();
      await optimizer.step(clipping);
    }
  });
  for (const [i, number] of sparse.entries()) expect(number).toBeCloseTo(dense[i], 6);
});

test('nn.utils.clipGradNorm and clipGradValue clip the rows in place', async () => {
  const [sparse, dense] = await both(async (weight, optimizer, isSparse) => {
    await lossOf(weight, batches[0], isSparse).backward();
    expect(nn.utils.clipGradNorm([weight], 0.5)).toBeGreaterThan(0.5);
    nn.utils.clipGradValue(weight, 0.2);
    await optimizer.step();
  });
  for (const [i, number] of sparse.entries()) expect(number).toBeCloseTo(dense[i], 6);
});

test('passes accumulate, whichever of them are sparse', async () => {
  for (const kinds of [
    [true, true],
    [true, false],
    [false, true],
  ]) {
    const weight = table();
    for (const [step, sparse] of kinds.entries()) await lossOf(weight, batches[step], sparse).backward();
    const reference = table();
    for (const step of kinds.keys()) await lossOf(reference, batches[step], false).backward();
    const { grad } = weight;
    expect(grad instanceof SparseGradient).toBe(kinds.every(Boolean));
    expect(grad instanceof SparseGradient ? grad.toDense() : grad).toEqual(reference.grad);
  }
});

test('a table that the loss also reads densely has a dense gradient', async () => {
  const tied = table();
  const logits = F.linear(looked(tied, batches[0], true), tied);
  await logits.mul(logits).sum().backward();
  const reference = table();
  const expected = F.linear(looked(reference, batches[0], false), reference);
  await expected.mul(expected).sum().backward();
  expect(tied.grad).not.toBeInstanceOf(SparseGradient);
  for (const [i, number] of tied.grad!.entries()) expect(number).toBeCloseTo(reference.grad![i], 5);
});

test('a computed table has a dense gradient', async () => {
  const weight = table();
  await F.embedding(rowsOf([1, 1]), weight.mul(2), { sparse: true })
    .sum()
    .backward();
  expect(weight.grad).not.toBeInstanceOf(SparseGradient);
  expect([...weight.grad!.subarray(3, 6)]).toEqual([4, 4, 4]);
});

test('a batch without rows has an empty gradient, and changes nothing', async () => {
  const weight = table();
  const optimizer = new optim.SparseAdam([weight]);
  await looked(weight, [], true).sum().add(weight.detach().sum()).backward();
  expect(weight.grad).toHaveLength(0);
  await optimizer.step();
  expect(weight.data).toEqual(fill([count, width], 1));
});

test('compileStep, traceOnce and each compute the same bits as single calls, in autocast too', async () => {
  const dense = () => new nn.Linear(width, 1);
  const layer = dense().stateDict();
  const results: Float32Array[] = [];
  for (const way of ['calls', 'compiled', 'traced', 'each']) {
    const weight = table();
    const linear = dense();
    linear.loadStateDict(layer);
    const optimizer = new optim.Adagrad([weight, ...linear.parameters()], { lr: 0.1 });
    const loss = (rows: Tensor) =>
      autocast({ dtype: 'bfloat16' }, () => {
        const output = linear.forward(F.embedding(rows, weight, { sparse: true }));
        return output.mul(output).mean();
      });
    const step = compileStep(optimizer, loss, { traceOnce: way !== 'compiled' });
    if (way === 'each') await step.each(batches.map((batch) => [rowsOf(batch)]));
    else
      for (const batch of batches) {
        if (way !== 'calls') await step(rowsOf(batch));
        else {
          optimizer.zeroGrad();
          await loss(rowsOf(batch)).backward();
          await optimizer.step();
        }
      }
    expect(weight.grad).toBeInstanceOf(SparseGradient);
    results.push(weight.data);
  }
  for (const result of results) expect(result).toEqual(results[0]);
  expect(results[0]).not.toEqual(fill([count, width], 1));
});

test('optimizers refuse gradients that they do not support, and change nothing', async () => {
  const weight = table();
  const cases: [make: () => optim.Optimizer, sparse: boolean, message: RegExp][] = [
    [() => new optim.Adam([weight]), true, /Adam: expected dense gradients.*Use optim.SparseAdam/],
    [() => new optim.SGD([weight], { weightDecay: 0.1 }), true, /SGD: expected weightDecay 0/],
    [() => new optim.Adagrad([weight], { weightDecay: 0.1 }), true, /Adagrad: expected weightDecay 0/],
    [() => new optim.SparseAdam([weight]), false, /SparseAdam: expected sparse gradients/],
  ];
  for (const [make, sparse, message] of cases) {
    const optimizer = make();
    weight.zeroGrad();
    await lossOf(weight, batches[0], sparse).backward();
    await expect(optimizer.step()).rejects.toThrow(message);
    const step = compileStep(optimizer, (rows: Tensor) => F.embedding(rows, weight, { sparse }).sum());
    await expect(step(rowsOf(batches[0]))).rejects.toThrow(message);
    optimizer.release();
  }
  expect(weight.data).toEqual(fill([count, width], 1));
  expect(() => new nn.EmbeddingBag(3, 2, { mode: 'max', sparse: true })).toThrow(
    /'sum' or 'mean' with sparse/,
  );
  expect(() => new nn.Embedding(3, 2, { sparse: 1 as unknown as boolean })).toThrow(/sparse/);
});
