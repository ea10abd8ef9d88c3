import * as ort from 'onnxruntime-node';
import { describe, expect, test, vi } from 'vitest';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { exportOnnx, F, nn, optim, Parameter, tensor, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

const namesOf = (entries: Iterable<readonly [string, unknown]>) => Array.from(entries, ([name]) => name);
const batch = (seed: number, rows = 4) => tensor(fill([rows, 3], seed), [rows, 3]);

/** Mean and unbiased variance of each of 3 columns. */
function statistics(rows: Float32Array) {
  return [0, 1, 2].map((column) => {
    const values = Array.from(rows).filter((_, place) => place % 3 === column);
    const mean = values.reduce((sum, x) => sum + x) / values.length;
    const squares = values.reduce((sum, x) => sum + (x - mean) ** 2, 0);
    return { mean, variance: squares / (values.length - 1) };
  });
}

/** Running statistics after batches of these seeds, by the definition. */
function expectTracked(norm: nn.BatchNorm1d, seeds: readonly number[], momentum = 0.1): void {
  const mean = [0, 0, 0];
  const variance = [1, 1, 1];
  for (const seed of seeds) {
    for (const [column, of] of statistics(fill([4, 3], seed)).entries()) {
      mean[column] += momentum * (of.mean - mean[column]);
      variance[column] += momentum * (of.variance - variance[column]);
    }
  }
  expectClose('running mean', norm.runningMean!.data, mean, 1e-6);
  expectClose('running variance', norm.runningVar!.data, variance, 1e-6);
  expect([...norm.numBatchesTracked!.data]).toEqual([seeds.length]);
}

test("parameters and buffers have torch's names, order and initial values", () => {
  const norm = new nn.BatchNorm2d(2);
  expect(namesOf(norm.namedParameters())).toEqual(['weight', 'bias']);
  expect(Array.from(norm.namedBuffers(), ([name, { shape, data }]) => [name, shape, [...data]])).toEqual([
    ['running_mean', [2], [0, 0]],
    ['running_var', [2], [1, 1]],
    ['num_batches_tracked', [], [0]],
  ]);
  expect([[...norm.weight!.data], [...norm.bias!.data]]).toEqual([
    [1, 1],
    [0, 0],
  ]);
  const bare = new nn.BatchNorm2d(2, { affine: false, trackRunningStats: false });
  expect([...bare.namedParameters(), ...bare.namedBuffers()]).toEqual([]);
});

describe('a forward call in training updates the running statistics once', () => {
  test('by backward, after which reading the output updates nothing', async () => {
    const norm = new nn.BatchNorm1d(3);
    const output = norm.forward(batch(1));
    expectTracked(norm, []);
    await output.sum().backward();
    expectTracked(norm, [1]);
    await output.array();
    expectTracked(norm, [1]);
  });

  test('by reading the output, after which backward updates nothing', async () => {
    const norm = new nn.BatchNorm1d(3);
    const loss = norm.forward(batch(1)).mul(batch(2)).sum();
    await loss.item();
    expectTracked(norm, [1]);
    await loss.backward();
    expectTracked(norm, [1]);
  });

  test('in each of several steps, by one program', async () => {
    const norm = new nn.BatchNorm1d(3);
    const optimizer = new optim.SGD(norm.parameters(), { lr: 0.1 });
    const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
    for (const seed of [1, 2, 3]) {
      await norm.forward(batch(seed)).mul(batch(7)).sum().backward();
      await optimizer.step();
    }
    expectTracked(norm, [1, 2, 3]);
    // One for the training steps, one for the optimizer steps.
    expect(compile).toHaveBeenCalledTimes(2);
    compile.mockRestore();
  });

  test('in call order, if a graph has several', async () => {
    const norm = new nn.BatchNorm1d(3, { momentum: 0.5 });
    const [first, second] = [norm.forward(batch(1)), norm.forward(batch(2))];
    await second.add(first).sum().backward();
    expectTracked(norm, [1, 2], 0.5);
  });

  test('if two losses share it', async () => {
    const norm = new nn.BatchNorm1d(3);
    const output = norm.forward(batch(1));
    await output.sum().backward();
    await output.mul(output).sum().backward();
    expectTracked(norm, [1]);
  });

  test('if two of its runs begin together', async () => {
    const norm = new nn.BatchNorm1d(3);
    const output = norm.forward(batch(1));
    await Promise.all([output.array(), output.sum().backward()]);
    expectTracked(norm, [1]);
  });

  test('not if no dependent value is computed', async () => {
    const norm = new nn.BatchNorm1d(3);
    norm.forward(batch(1));
    await norm.forward(batch(2)).array();
    expectTracked(norm, [2]);
  });

  test('not by a failed run, but by the next', async () => {
    const norm = new nn.BatchNorm1d(3);
    const labels = BigInt64Array.of(0n, 1n, 2n, 0n);
    const loss = F.nllLoss(norm.forward(batch(1)), tensor(labels));
    labels[0] = 9n;
    await expect(loss.backward()).rejects.toMatchObject({ code: 'ERR_EXECUTOR' });
    expectTracked(norm, []);
    labels[0] = 0n;
    await loss.backward();
    expectTracked(norm, [1]);
  });
});

describe('evaluation', () => {
  test('uses the running statistics without changing them', async () => {
    const norm = new nn.BatchNorm1d(3, { eps: 1e-9 }).eval();
    norm.runningMean!.data.set([1, 2, 3]);
    norm.runningVar!.data.set([4, 1, 0.25]);
    norm.weight!.data.set([1, -1, 2]);
    norm.bias!.data.set([0, 10, 0]);
    const rows = new Parameter(Float32Array.of(1, 2, 3, 3, 3, 4), [2, 3]);
    const output = norm.forward(rows);
    await output.sum().backward();
    expectClose('output', await output.array(), [0, 10, 0, 1, 9, 4], 1e-5);
    expectClose('gradient', rows.grad!, [0.5, -1, 4, 0.5, -1, 4], 1e-5);
    expect([...norm.runningMean!.data, ...norm.numBatchesTracked!.data]).toEqual([1, 2, 3, 0]);
  });

  test('accepts a single row, which training rejects', async () => {
    const norm = new nn.BatchNorm1d(3);
    expect(() => norm.forward(batch(1, 1))).toThrow('more than 1 value per channel');
    expect((await norm.eval().forward(batch(1, 1)).array()).length).toBe(3);
  });
});

test('exports in evaluation mode and restores the mode of the model', async () => {
  const model = new nn.Sequential(new nn.Conv2d(1, 2, 3), new nn.BatchNorm2d(2), new nn.Dropout(0.5));
  const images = (seed: number): Tensor => tensor(fill([3, 1, 5, 5], seed), [3, 1, 5, 5]);
  await model.forward(images(1)).array();
  const bytes = exportOnnx(model, { inputShape: [1, 1, 5, 5] });
  expect(Array.from(model.namedModules(), ([, { training }]) => training)).toEqual([true, true, true, true]);

  const session = await ort.InferenceSession.create(bytes);
  const { output } = await session.run({
    input: new ort.Tensor('float32', fill([3, 1, 5, 5], 2), [3, 1, 5, 5]),
  });
  const expected = (await model.eval().forward(images(2)).array()) as Float32Array;
  expectClose('output', output.data as Float32Array, expected, 1e-6);
});
