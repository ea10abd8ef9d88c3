import { afterEach, describe, expect, test, vi } from 'vitest';
import { separateMemory } from '../../../../test/fixtures/separate-memory.ts';
import { isSanitized } from '../../../../test/support/sanitized.ts';
import { describeCompilation, warnIfSlowSync } from '../../src/compiler/slow-compilation.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import type { CollectiveGroup } from '../../src/graph/attributes.ts';
import {
  compileStep,
  F,
  manualSeed,
  nn,
  noGrad,
  optim,
  programCache,
  Parameter,
  tensor,
  Tensor,
} from '../../src/index.ts';
import { allReduce } from '../../src/ops/collective.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

let restore: () => void = () => undefined;
afterEach(() => {
  restore();
  restore = () => undefined;
  vi.unstubAllEnvs();
  programCache.clear();
});

const policy = () => new nn.Sequential(new nn.Linear(5, 16), new nn.Tanh(), new nn.Linear(16, 3));
const observed = (rows: number, seed: number) => tensor(fill([rows, 5], seed), [rows, 5]);

test('is bit-identical to array and item, before and after compilation', async () => {
  const model = policy();
  for (const rows of [1, 4, 1, 4, 3]) {
    const scores = () => noGrad(() => model.forward(observed(rows, rows)));
    expect(scores().arraySync()).toEqual(await scores().array());
    expect(scores().sum().itemSync()).toBe(await scores().sum().item());
    programCache.clear();
    expect(await scores().array()).toEqual(scores().arraySync());
  }
});

test('reads every kind of tensor into a new array', () => {
  const data = Float32Array.of(1, -2);
  const parameter = new Parameter(data, [2]);
  for (const one of [tensor(data), parameter, parameter.detach()]) {
    expect(one.arraySync()).toEqual(data);
    expect(one.arraySync()).not.toBe(data);
  }
  expect(
    tensor([3, 4])
      .add(tensor([1]))
      .arraySync(),
  ).toEqual(BigInt64Array.of(4n, 5n));
  expect(tensor([1, -1]).gt(0).arraySync()).toEqual(Uint8Array.of(1, 0));
  expect(tensor(new Float32Array(0), [0]).arraySync()).toEqual(new Float32Array(0));
  expect(() => parameter.itemSync()).toThrow('itemSync: expected a tensor of one element, got float32[2].');
});

test('reads the arrays at the call, and compiles a shape once', () => {
  const compile = vi.spyOn(onnxruntimeExecutor, 'compileSync');
  const data = Float32Array.of(1, 2);
  const doubled = tensor(data).mul(2);
  expect([...doubled.arraySync()]).toEqual([2, 4]);
  data[1] = 5;
  expect([...doubled.arraySync()]).toEqual([2, 10]);
  expect(compile).toHaveBeenCalledTimes(1);
  compile.mockRestore();
});

test('releases programs of earlier shapes without a turn of the event loop', () => {
  for (let length = 1; length <= 60; length += 1) {
    const sum = tensor(new Float32Array(length).fill(1)).mul(2).sum();
    expect(sum.itemSync()).toBe(2 * length);
  }
  expect(programCache.size).toBe(programCache.maxSize);
});

test.skipIf(isSanitized)('frees the memory of earlier shapes without a turn of the event loop', () => {
  const read = (first: number, count: number) => {
    for (let extra = first; extra < first + count; extra += 1) {
      const length = 2 ** 20 + extra;
      expect(tensor(new Float32Array(length).fill(2)).sum().itemSync()).toBe(2 * length);
    }
    return process.memoryUsage.rss() / 2 ** 20;
  };
  const before = read(0, 30);
  // A retained program holds the 4 MiB of its input.
  expect(read(30, 120) - before).toBeLessThan(240);
});

test('costs nothing for the loss of a backward pass or compiled step, even after an update', async () => {
  manualSeed(1);
  const model = policy();
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.5 });
  const lossOf = (seed: number) => model.forward(observed(4, seed)).square().mean();
  const loss = lossOf(1);
  const before = loss.itemSync();
  await loss.backward();
  await optimizer.step();
  const run = vi.spyOn(onnxruntimeExecutor, 'keep');
  expect(loss.itemSync()).toBe(before);
  const step = compileStep(optimizer, lossOf);
  const stepped = await step(2);
  run.mockClear();
  expect(stepped.itemSync()).toBe(await stepped.item());
  expect(run).not.toHaveBeenCalled();
  run.mockRestore();
  const outdated = lossOf(3);
  await lossOf(4).backward();
  await optimizer.step();
  expect(() => outdated.itemSync()).toThrow(/^itemSync: float32\[\].*optimizer\.step/s);
});

test('assigns running statistics once, as array does', async () => {
  const images = () => tensor(fill([4, 3, 2, 2], 2), [4, 3, 2, 2]);
  const [one, other] = [new nn.BatchNorm2d(3), new nn.BatchNorm2d(3)];
  const normalized = one.forward(images());
  const elements = normalized.arraySync();
  normalized.arraySync();
  expect(elements).toEqual(await other.forward(images()).array());
  expect(one.stateDict()).toEqual(other.stateDict());
  expect(one.runningMean!.arraySync()).not.toEqual(new Float32Array(3));
});

test('returns the same numbers if values are in the executor’s memory', () => {
  const read = () => {
    manualSeed(4);
    const norm = new nn.BatchNorm1d(5);
    const model = policy();
    const scores = model.forward(norm.forward(observed(4, 6)));
    return [scores.arraySync(), scores.sum().itemSync(), norm.stateDict()];
  };
  const expected = read();
  programCache.clear();
  const separated = separateMemory(onnxruntimeExecutor);
  ({ restore } = separated);
  expect(read()).toEqual(expected);
  expect(separated.notFreed()).toBe(0);
});

describe('is an error that changes nothing', () => {
  const unused = () => Promise.reject(new Error('not to be run'));
  const group: CollectiveGroup = { rank: 0, size: 2, allReduce: unused, allGather: unused };

  test('while an operation is running, and succeeds afterwards', async () => {
    const weight = new Parameter(Float32Array.of(1, 2), [2]);
    const doubled = noGrad(() => weight.mul(2));
    const pending = weight.square().sum().backward();
    expect(() => doubled.arraySync()).toThrow(
      'tensor.arraySync(): loss.backward() is still running. Await it first: await loss.backward().',
    );
    await pending;
    expect([...doubled.arraySync()]).toEqual([2, 4]);
    expect(weight.grad).toEqual(Float32Array.of(2, 4));
    const read = doubled.array();
    expect(() => doubled.sum().itemSync()).toThrow('tensor.itemSync(): tensor.array() is still running.');
    await read;
    expect(doubled.sum().itemSync()).toBe(6);
  });

  test('for a tensor that depends on a collective', () => {
    const reduced = new Tensor(allReduce(tensor([0.5, 2]).value, group));
    expect(() => reduced.mul(2).arraySync()).toThrow(
      'tensor.arraySync(): the tensor depends on a collective, such as one of SyncBatchNorm, which needs the event loop. Write await x.array() or await x.item().',
    );
  });

  test('with an unusable library', () => {
    vi.stubEnv('RINGRUN_ONNXRUNTIME_LIBRARY', '/nowhere/libonnxruntime.so.1');
    expect(() => tensor([0.5]).mul(3).arraySync()).toThrow(
      /^onnxruntime cannot be used: cannot load \/nowhere\/libonnxruntime.so.1: .*No such file/,
    );
    vi.unstubAllEnvs();
    expect([...tensor([0.5]).mul(3).arraySync()]).toEqual([1.5]);
  });

  test('with an operator that fails, and later reads succeed', () => {
    // Computed, so that the call does not check it.
    const row = (index: number) =>
      F.embedding(tensor([index]).add(tensor([0])), tensor([0.5, 2], [2, 1])).arraySync();
    expect(() => row(2)).toThrow('embedding: expected rows from 0 to 1, got 2 at index 0.');
    expect([...row(1)]).toEqual([2]);
  });
});

test('a step traced once is traced at every call if its loss reads elements', async () => {
  const weight = new Parameter(Float32Array.of(1), [1]);
  const optimizer = new optim.SGD([weight], { lr: 1 });
  const step = compileStep(
    optimizer,
    (x: Tensor) => weight.mul(x.mul(2).sum().itemSync() > 0 ? 1 : -1).sum(),
    { traceOnce: true },
  );
  const gradients: number[] = [];
  for (const element of [1, -1, 1]) {
    await step(tensor(Float32Array.of(element)));
    gradients.push(weight.grad![0]);
  }
  expect(gradients).toEqual([1, -1, 1]);
});

test('prints a line after a slow compilation, which blocked the event loop', () => {
  const shape = { operators: 2, inputs: [] };
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  expect(warnIfSlowSync('a loss', shape, () => 7, -1)).toBe(7);
  warnIfSlowSync('a loss', shape, () => 7, 60_000);
  const lines = write.mock.calls.map(([text]) => String(text).replace(/\d+ ms/, 'N ms'));
  write.mockRestore();
  expect(lines).toEqual([
    `ringrun: the event loop was blocked for N ms by compiling ${describeCompilation('a loss', shape)}\n`,
  ]);
});
