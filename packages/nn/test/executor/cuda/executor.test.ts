import { afterAll, expect, test, vi } from 'vitest';
import { fakeComputeLibraries } from '../../../../../native/test/fake-gpu/libraries.ts';
import { Parameter, compileStep, nn, ones, optim, setDefaultDevice, tensor } from '../../../src/index.ts';
import { cudaExecutor } from '../../../src/executor/cuda/cuda.ts';
import type { Executor } from '../../../src/executor/executor.ts';
import { createValue } from '../../../src/graph/node.ts';
import { exp } from '../../../src/ops/elementwise.ts';
import { input } from '../../../src/ops/source.ts';
import { manualSeed } from '../../../src/random/generator.ts';
import { numbers } from '../../support/cuda.ts';
import { definitionFor } from '../../support/executor-programs.ts';
import '../../support/one-thread.ts';

Object.assign(process.env, fakeComputeLibraries());
setDefaultDevice('cuda');
afterAll(() => {
  setDefaultDevice(undefined);
});

/** A step of a linear layer on [3, 4]. */
function createStep() {
  manualSeed(2);
  const model = new nn.Linear(4, 2);
  const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
  const step = compileStep(optimizer, (x: ReturnType<typeof ones>) => model.forward(x).pow(2).mean(), {
    traceOnce: true,
  });
  return { model, step };
}

const batches = [1, 2, 3, 4].map((seed) => tensor(numbers([3, 4], seed), [3, 4]));

test('steps without JavaScript in between are bit-identical to single steps', async () => {
  const [single, each] = [createStep(), createStep()];
  const losses: number[] = [];
  for (const batch of batches) losses.push(await (await single.step(batch)).item());
  const together = await each.step.each(batches.map((batch) => [batch] as const));
  expect(await Promise.all(together.map((loss) => loss.item()))).toEqual(losses);
  expect([...each.model.weight.data]).toEqual([...single.model.weight.data]);
});

test('a run that blocks the event loop returns the elements of one that does not', async () => {
  const x = tensor(numbers([3, 4], 5), [3, 4]);
  const asynchronous = await x.mul(3).sum([1]).array();
  expect(x.mul(3).sum([1]).arraySync()).toEqual(asynchronous);
});

test('parameters that code on the host writes are copied before the next run', async () => {
  const parameter = new Parameter(Float32Array.of(1, 2), [2]);
  expect(await parameter.mul(2).array()).toEqual(Float32Array.of(2, 4));
  parameter.data.set([5, 6]);
  expect(await parameter.mul(2).array()).toEqual(Float32Array.of(10, 12));
});

test('an index out of range is an error of the user, and nothing is updated', async () => {
  manualSeed(2);
  const model = new nn.Embedding(5, 3);
  const optimizer = new optim.SGD(model.parameters(), { lr: 1 });
  const step = compileStep(optimizer, (rows: ReturnType<typeof ones>) => model.forward(rows.add(2)).sum());
  const before = [...model.weight.data];
  await expect(step(tensor(BigInt64Array.of(1n, 3n)))).rejects.toMatchObject({
    code: 'ERR_ARGUMENT',
    message: expect.stringContaining('got 5 at index 1.') as string,
  });
  expect([...model.weight.data]).toEqual(before);
  await step(tensor(BigInt64Array.of(1n, 2n)));
  expect([...model.weight.data]).not.toEqual(before);
});

test('a graph with an operator that has no kernel runs on the CPU, with one line that names it', async () => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const executor = cudaExecutor(0) as Executor;
  const x = input('float32', [3], { data: Float32Array.of(1, 2, 3) });
  // Only the CPU has programs of elementwise instructions.
  const negated = { instructions: [{ op: 'Neg', operands: [0] }], results: [1] } as const;
  const y = exp(createValue('Elementwise', [x], negated, x));
  for (const compiled of [await executor.compile(definitionFor(y)), executor.compileSync(definitionFor(y))]) {
    const result = executor.keep(new Float32Array(3));
    await compiled.run([executor.upload(Float32Array.of(0, 1, 2))], [result]);
    compiled.runSync([executor.upload(Float32Array.of(0, 1, 2))], [result]);
    const found = new Float32Array(3);
    executor.read(result, found);
    for (const [i, element] of found.entries()) expect(element).toBeCloseTo(Math.exp(-i), 6);
    await compiled.release();
  }
  const lines = written.mock.calls.map(([line]) => String(line));
  written.mockRestore();
  expect(lines).toEqual([
    'ringrun: test runs on the CPU, because on the GPU there is no kernel for Elementwise. Elements are copied for every run. (printed once)\n',
  ]);
});
