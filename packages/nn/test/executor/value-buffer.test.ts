import { afterEach, expect, test } from 'vitest';
import { separateMemory } from '../../../../test/fixtures/separate-memory.ts';
import { ManagedBuffer } from '../../src/executor/managed-buffer.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { hostArrays, onHost } from '../../src/executor/value-buffer.ts';
import {
  BufferTensor,
  compileStep,
  F,
  manualSeed,
  nn,
  noGrad,
  optim,
  programCache,
  type Parameter,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { fill } from '../support/fill.ts';

let restore: () => void = () => undefined;
afterEach(() => {
  restore();
  programCache.clear();
});

function separate() {
  const separated = separateMemory(onnxruntimeExecutor);
  ({ restore } = separated);
  return separated;
}

class Cnn extends nn.Module {
  conv = new nn.Conv2d(1, 3, 3);
  norm = new nn.BatchNorm2d(3);
  dropout = new nn.Dropout(0.2);
  output = new nn.Linear(3 * 3 * 3, 4);

  forward(images: Tensor): Tensor {
    const features = F.maxPool2d(F.relu(this.norm.forward(this.conv.forward(images))), 2);
    return this.output.forward(this.dropout.forward(F.flatten(features)));
  }
}

const optimizers = {
  Adam: (parameters: Iterable<Parameter>) => new optim.Adam(parameters, { lr: 0.01 }),
  'SGD with momentum': (parameters: Iterable<Parameter>) =>
    new optim.SGD(parameters, { lr: 0.1, momentum: 0.9 }),
};

/** The results of a training in which runs and the host read and write parameters, gradients, buffers and states. */
async function train(makeOptimizer: (parameters: Iterable<Parameter>) => optim.Optimizer): Promise<unknown> {
  manualSeed(3);
  let model = new Cnn();
  let optimizer = makeOptimizer(model.parameters());
  const lossOf = (step: number) => {
    const labels = BigInt64Array.from({ length: 8 }, (_, index) => BigInt((index + step) % 4));
    return F.crossEntropy(model.forward(tensor(fill([8, 1, 8, 8], step), [8, 1, 8, 8])), tensor(labels));
  };
  const seen: unknown[] = [];
  for (let step = 0; step < 4; step += 1) {
    optimizer.zeroGrad();
    await lossOf(step).backward();
    const loss = lossOf(step + 10);
    // Adds to the gradients of the first pass.
    await loss.backward({ detectAnomaly: step === 2 });
    if (step === 1) seen.push(nn.utils.clipGradNorm(model.parameters(), 0.1));
    await optimizer.step(step === 3 ? { clipGradNorm: 0.05 } : {});
    seen.push(
      optimizer.gradNorm,
      await loss.item(),
      [...model.conv.weight.grad!],
      [...model.norm.runningMean!.data],
    );
    if (step === 2) model.output.weight.data[5] += 1;
  }
  const [modelState, optimizerState] = [model.stateDict(), optimizer.stateDict()];
  model = new Cnn();
  model.loadStateDict(modelState);
  optimizer = makeOptimizer(model.parameters());
  optimizer.loadStateDict(optimizerState);
  const step = compileStep(optimizer, lossOf);
  for (let index = 0; index < 3; index += 1) seen.push(await (await step(index)).item());
  model.eval();
  const images = tensor(fill([2, 1, 8, 8], 9), [2, 1, 8, 8]);
  seen.push(await noGrad(() => model.forward(images)).array());
  return [seen, modelState, optimizerState, model.stateDict(), optimizer.stateDict()];
}

test.each(Object.entries(optimizers))(
  '%s is bit-identical when values are in the executor’s memory',
  async (_, makeOptimizer) => {
    const expected = await train(makeOptimizer);
    programCache.clear();
    const { copies, notFreed } = separate();
    expect(await train(makeOptimizer)).toEqual(expected);
    expect(copies.toExecutor).toBeGreaterThan(50);
    expect(copies.toHost).toBeGreaterThan(50);
    expect(notFreed()).toBe(0);
  },
);

test('parameters, gradients and states stay in the executor’s memory between steps', async () => {
  const { copies } = separate();
  const model = new Cnn();
  const optimizer = new optim.Adam(model.parameters());
  const images = tensor(fill([8, 1, 8, 8], 1), [8, 1, 8, 8]);
  const labels = tensor(new BigInt64Array(8));
  const count = async (run: () => Promise<void>) => {
    Object.assign(copies, { toExecutor: 0, toHost: 0 });
    await run();
    return { ...copies };
  };
  const backward = () => {
    optimizer.zeroGrad();
    return F.crossEntropy(model.forward(images), labels).backward();
  };
  await backward();
  await optimizer.step();
  // Images, labels, the key and the scale of dropout, and the momentum of batch norm, whose buffers stay there; the loss.
  expect(await count(backward)).toEqual({ toExecutor: 5, toHost: 1 });
  const { toExecutor, toHost } = await count(() => optimizer.step());
  // Coefficients of one number each.
  expect([toExecutor < 8, toHost]).toEqual([true, 0]);
  expect(model.conv.weight.grad).toHaveLength(27);
  expect(copies.toHost).toBe(1);
});

test('a run reads the elements that a broadcast wrote to a model’s buffer', async () => {
  separate();
  const buffer = new BufferTensor(Float32Array.of(1, 2));
  const { data } = buffer;
  const doubled = async () => [...(await buffer.mul(2).array())];
  expect(await doubled()).toEqual([2, 4]);
  buffer.expect({ hasArrived: true, wait: () => undefined, waitSync: () => undefined });
  data.set([3, 4]);
  expect(await doubled()).toEqual([6, 8]);
});

test('a buffer on the host is its array', async () => {
  const array = Float32Array.of(1, 2);
  expect(hostArrays([onHost(array)])[0]).toBe(array);
  expect(hostArrays([onnxruntimeExecutor.upload(array), onnxruntimeExecutor.keep(array)])).toEqual([
    array,
    array,
  ]);
  const allocated = onnxruntimeExecutor.allocate({ dtype: 'int64', shape: [2, 3] });
  expect(await onnxruntimeExecutor.download(allocated)).toEqual(new BigInt64Array(6));
  const managed = new ManagedBuffer(array);
  expect(
    hostArrays([managed.forReading(onnxruntimeExecutor), managed.forWriting(onnxruntimeExecutor)]),
  ).toEqual([array, array]);
  expect(managed.array).toBe(array);
});
