import { afterAll, expect, test, vi } from 'vitest';
import type { NativeGpuDevice, NativeGpuProgram } from '@ringrun/native';
import { fakeComputeLibraries } from '../../../../../native/test/fake-gpu/libraries.ts';
import { fakeDevice } from '../../../../../native/test/gpu/fake-device.ts';
import { fillAllocatedMemory } from '../../../../../native/test/gpu/undefined-memory.ts';
import {
  Parameter,
  compileStep,
  exportOnnx,
  nn,
  ones,
  optim,
  setDefaultDevice,
  tensor,
} from '../../../src/index.ts';
import { cudaExecutor, executorOn } from '../../../src/executor/cuda/cuda.ts';
import type { Executor } from '../../../src/executor/executor.ts';
import { setGpuExecutor } from '../../../src/executor/select.ts';
import { createValue } from '../../../src/graph/node.ts';
import { exp, mul } from '../../../src/ops/elementwise.ts';
import { input, number } from '../../../src/ops/source.ts';
import { manualSeed } from '../../../src/random/generator.ts';
import { checkGradients } from '../../support/check-gradients.ts';
import { numbers } from '../../support/cuda.ts';
import { definitionFor } from '../../support/executor-programs.ts';
import { attentionCases } from '../../support/gradient-cases/attention.ts';
import '../../support/one-thread.ts';

Object.assign(process.env, fakeComputeLibraries());
fillAllocatedMemory();
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

test('a model that was trained on the GPU is exported with the elements that it has there', async () => {
  const { model, step } = createStep();
  const before = exportOnnx(model, { inputShape: [1, 4] });
  await step(batches[0]);
  const after = exportOnnx(model, { inputShape: [1, 4] });
  expect(after).not.toEqual(before);
  const copy = new nn.Linear(4, 2).to('cpu');
  copy.loadStateDict(model.stateDict());
  expect(exportOnnx(copy, { inputShape: [1, 4] })).toEqual(after);
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

/**
 * A step with an embedding of four rows, by the row before each. The program checks the sums, and the call the given rows. One launch
 * updates the layers, which have equal shapes.
 */
function embeddingStep() {
  manualSeed(2);
  const model = new nn.Sequential(new nn.Embedding(4, 3), new nn.Linear(3, 3), new nn.Linear(3, 3));
  const optimizer = new optim.Adam(model.parameters(), { lr: 0.1 });
  const step = compileStep(
    optimizer,
    (rows: ReturnType<typeof ones>) => model.forward(rows.add(1)).pow(2).sum(),
    {
      traceOnce: true,
    },
  );
  return { elements: () => [...model.parameters()].map(({ data }) => [...data]), step };
}

const rowsOf = (...rows: number[]) => tensor(BigInt64Array.from(rows, BigInt));

test('runs with checks follow each other without the host in between, and none updates after a refused index', async () => {
  const order: string[] = [];
  const watched = executorOn(watchedDevice(order));
  const before = setGpuExecutor(() => watched);
  try {
    const [single, each] = [embeddingStep(), embeddingStep()];
    const good = [rowsOf(-1, 0), rowsOf(1, 2), rowsOf(0, 0)];
    await single.step(good[0]);
    await each.step(good[0]);
    for (const rows of good.slice(1)) await single.step(rows);
    order.length = 0;
    const batches = [...good.slice(1), rowsOf(2, 3), rowsOf(0, 6), rowsOf(0, 1)];
    await expect(each.step.each(batches.map((rows) => [rows] as const))).rejects.toMatchObject({
      code: 'ERR_ARGUMENT',
      message: expect.stringContaining('got 4 at index 1.') as string,
    });
    expect(order.join(' ')).toMatch(/^run run run run run ended/);
    expect(each.elements()).toEqual(single.elements());
    // The next call updates again.
    await each.step(good[0]);
    expect(each.elements()).not.toEqual(single.elements());
  } finally {
    setGpuExecutor(before);
  }
});

test('another error in the call of a refused run leaves later calls able to update', async () => {
  const order: string[] = [];
  const watched = executorOn(watchedDevice(order, 'run run run'));
  const before = setGpuExecutor(() => watched);
  try {
    const { step, elements } = embeddingStep();
    await step(rowsOf(0, 1));
    const unchanged = elements();
    // The second run of this call is the third one, which fails.
    await expect(step.each([[rowsOf(2, 3)], [rowsOf(0, 1)]])).rejects.toThrow('lost');
    expect(elements()).toEqual(unchanged);
    await step(rowsOf(0, 1));
    expect(elements()).not.toEqual(unchanged);
  } finally {
    setGpuExecutor(before);
  }
});

test.each([true, false])('a norm that must be finite (%s) and is not', async (errorIfNonfinite) => {
  const weight = new Parameter(Float32Array.of(1, 2), [2]);
  const optimizer = new optim.Adam([weight], { lr: 0.1 });
  const step = compileStep(optimizer, (x: ReturnType<typeof ones>) => weight.mul(x).sum(), {
    clipGradNorm: { maxNorm: 1, errorIfNonfinite },
  });
  await step(tensor([1, 1]));
  const before = [...weight.data];
  const refused = step(tensor([1, Infinity]));
  if (errorIfNonfinite) {
    await expect(refused).rejects.toMatchObject({ message: expect.stringContaining('Infinity') as string });
    expect([...weight.data]).toEqual(before);
  } else {
    await refused;
    expect(weight.data[1]).toBeNaN();
  }
});

/** A GPU that notes the runs of programs and when they have ended. The run fails after which the runs are `failing`. */
function watchedDevice(order: string[], failing?: string): NativeGpuDevice {
  const device = fakeDevice();
  return new Proxy(device, {
    get: (target, name: keyof NativeGpuDevice) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(member, target, args);
        if (name !== 'createProgram') return result;
        const program = result as NativeGpuProgram;
        const watched: Pick<NativeGpuProgram, 'bind' | 'release' | 'run'> = {
          bind: (...place) => {
            program.bind(...place);
          },
          release: () => {
            program.release();
          },
          run: async (transfers) => {
            order.push('run');
            if (order.filter((one) => one === 'run').join(' ') === failing) throw new Error('lost');
            await program.run(transfers);
            order.push('ended');
          },
        };
        return watched;
      };
    },
  });
}

test('a norm that is not finite is an error, and nothing is updated', async () => {
  const parameter = new Parameter(Float32Array.of(1, 2), [2]);
  const optimizer = new optim.SGD([parameter], { lr: 1 });
  const clipping = { clipGradNorm: { maxNorm: 1, errorIfNonfinite: true } };
  const step = compileStep(optimizer, (x: ReturnType<typeof ones>) => parameter.mul(x).sum(), clipping);
  await expect(step(tensor(Float32Array.of(1, Infinity)))).rejects.toMatchObject({ code: 'ERR_NONFINITE' });
  expect([...parameter.data]).toEqual([1, 2]);
  await step(tensor(Float32Array.of(3, 4)));
  expect(parameter.data[0]).toBeCloseTo(0.4, 5);
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

test('a program reads no number that is not among its inputs', async () => {
  const x = input('float32', [2], { data: Float32Array.of(1, 2) });
  const definition = { ...definitionFor(mul(x, number(3))), leaves: definitionFor(exp(x)).leaves };
  await expect((cudaExecutor(0) as Executor).compile(definition)).rejects.toThrow(
    'The graph reads Number, which is no leaf.',
  );
});

test('the gradient of a trained mask of causal attention reads only what the program writes', async () => {
  await checkGradients(attentionCases.Attention['a trained mask, causal, dropout']);
});
