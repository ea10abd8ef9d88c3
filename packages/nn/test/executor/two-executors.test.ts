import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { separateMemory } from '../../../../test/fixtures/separate-memory.ts';
import {
  BufferTensor,
  F,
  compileStep,
  nn,
  ones,
  optim,
  programCache,
  setDefaultDevice,
  tensor,
} from '../../src/index.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import type { Executor } from '../../src/executor/executor.ts';
import { setGpuExecutor } from '../../src/executor/select.ts';
import { manualSeed } from '../../src/random/generator.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

/** A second executor, which computes on the CPU in memory of its own. */
const second: Executor = { ...onnxruntimeExecutor, device: 'cuda:0' };
const separated = separateMemory(second);
const before = setGpuExecutor((index = 0) =>
  index === 0 ? second : { problem: `there is no GPU ${index}` },
);
afterAll(() => {
  setGpuExecutor(before);
});

const onCpu = vi.spyOn(onnxruntimeExecutor, 'compile');
const onSecond = vi.spyOn(second, 'compile');
beforeEach(() => {
  onCpu.mockClear();
  onSecond.mockClear();
});
afterEach(() => {
  setDefaultDevice(undefined);
  vi.unstubAllEnvs();
  expect(separated.notFreed()).toBe(0);
});

class Net extends nn.Module {
  conv = new nn.Conv2d(1, 3, 3);
  norm = new nn.BatchNorm2d(3);
  fc = new nn.Linear(3 * 36, 4);
  forward(x: ReturnType<typeof tensor>) {
    return this.fc.forward(F.relu(this.norm.forward(this.conv.forward(x))).flatten(1));
  }
}

const images = tensor(fill([5, 1, 8, 8], 1), [5, 1, 8, 8]);
const classes = tensor(BigInt64Array.of(0n, 1n, 2n, 3n, 0n));

function createModel(): { model: Net; optimizer: optim.SGD } {
  manualSeed(3);
  const model = new Net();
  return { model, optimizer: new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 }) };
}

async function step({ model, optimizer }: ReturnType<typeof createModel>): Promise<void> {
  optimizer.zeroGrad();
  await F.crossEntropy(model.forward(images), classes).backward();
  await optimizer.step();
}

const elementsOf = (model: nn.Module) =>
  [...model.namedParameters(), ...model.namedBuffers()].map(([name, { data }]) => [name, [...data]]);

let expected: ReturnType<typeof elementsOf>[];
/** The model after each of four steps on the CPU. */
beforeAll(async () => {
  const created = createModel();
  expected = [];
  for (let i = 0; i < 4; i += 1) {
    await step(created);
    expected.push(elementsOf(created.model));
  }
});

describe('two executors in one process', () => {
  test('train models of one structure alternately, with a program of each and the same bits', async () => {
    const [cpu, gpu] = [createModel(), createModel()];
    gpu.model.to('cuda');
    for (const bits of expected) {
      await step(cpu);
      await step(gpu);
      expect(elementsOf(cpu.model)).toEqual(bits);
      expect(elementsOf(gpu.model)).toEqual(bits);
    }
    // The first model's programs are those of `expected`.
    expect([onCpu.mock.calls.length, onSecond.mock.calls.length]).toEqual([0, 2]);
  });

  test('a model moves between steps with its running statistics and optimizer states', async () => {
    const created = createModel();
    for (const [i, bits] of expected.entries()) {
      created.model.to(i % 2 === 0 ? 'cuda:0' : 'cpu');
      await step(created);
      expect(elementsOf(created.model)).toEqual(bits);
    }
  });

  test.each([{}, { traceOnce: true, copyInputs: false }])('a compiled step follows: %o', async (options) => {
    programCache.clear();
    const { model, optimizer } = createModel();
    model.norm.momentum = 0;
    const compiled = compileStep(
      optimizer,
      (x: typeof images, y: typeof classes) => F.crossEntropy(model.forward(x), y),
      options,
    );
    const reference = createModel();
    for (const [i, device] of (['cpu', 'cuda', 'cpu', 'cuda'] as const).entries()) {
      model.to(device);
      onSecond.mockClear();
      await compiled(images, classes);
      expect(onSecond).toHaveBeenCalledTimes(i === 1 ? 1 : 0);
      await step(reference);
      expect([...model.fc.weight.data]).toEqual([...reference.model.fc.weight.data]);
    }
  });

  test('steps without JavaScript in between run on the second executor', async () => {
    const [one, each] = [createModel(), createModel()];
    const compiledOf = ({ model, optimizer }: typeof one) =>
      compileStep(optimizer, (x: typeof images) => model.conv.forward(x).pow(2).mean(), { traceOnce: true });
    const batches = [1, 2, 3, 4].map((seed) => tensor(fill([5, 1, 8, 8], seed), [5, 1, 8, 8]));
    const step = compiledOf(one);
    const losses: number[] = [];
    for (const batch of batches) losses.push(await (await step(batch)).item());
    each.model.to('cuda');
    const together = await compiledOf(each).each(batches.map((batch) => [batch] as const));
    expect(await Promise.all(together.map((loss) => loss.item()))).toEqual(losses);
    expect([...each.model.conv.weight.data]).toEqual([...one.model.conv.weight.data]);
  });

  test('the default device applies to models that were not moved, and to reads', async () => {
    setDefaultDevice('cuda');
    const created = createModel();
    await step(created);
    expect(elementsOf(created.model)).toEqual(expected[0]);
    expect(ones([2]).add(1).arraySync()).toEqual(Float32Array.of(2, 2));
    expect(await ones([2]).add(2).array()).toEqual(Float32Array.of(3, 3));
    expect(onCpu).not.toHaveBeenCalled();
    created.model.to('cpu');
    await step(created);
    expect(elementsOf(created.model)).toEqual(expected[1]);
  });

  test('RINGRUN_DEVICE=cuda applies to models that were not moved', async () => {
    vi.stubEnv('RINGRUN_DEVICE', 'cuda');
    const created = createModel();
    await step(created);
    expect(elementsOf(created.model)).toEqual(expected[0]);
    expect(onCpu).not.toHaveBeenCalled();
  });

  test('a graph of two devices is an error that names both', async () => {
    const { model } = createModel();
    model.conv.to('cuda');
    model.fc.to('cpu');
    await expect(model.forward(images).sum().backward()).rejects.toMatchObject({
      code: 'ERR_ARGUMENT',
      message:
        "Expected all parameters and buffers of a graph on one device, got cuda and cpu. Move the modules with module.to('cuda').",
    });
    expect(() => model.to('cuda:1')).toThrow(
      "Net.to: expected a device that can be used, got cuda:1: there is no GPU 1. Use 'cpu' to compute on the CPU.",
    );
  });

  test('tensors and buffers that were not moved follow the parameters', async () => {
    const { model } = createModel();
    model.fc.to('cuda');
    const scale = new BufferTensor(Float32Array.of(2), [1]);
    const x = ones([1, 108]);
    const result = await model.fc.forward(x.mul(scale)).array();
    model.fc.to('cpu');
    expect(await model.fc.forward(x.mul(scale)).array()).toEqual(result);
  });
});
