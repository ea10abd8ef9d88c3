import { expect, test, vi } from 'vitest';
import { BasicBlock, Cnn } from '@ringrun/examples-cifar';
import { GPT } from '@ringrun/examples-gpt';
import { Net } from '@ringrun/examples-mnist';
import {
  F,
  backends,
  compileStep,
  manualSeed,
  nn,
  optim,
  setDefaultDevice,
  tensor,
  type Device,
  type Tensor,
} from '@ringrun/nn';
import { fakeComputeLibraries } from '../native/test/fake-gpu/libraries.ts';
import { ways } from './support/extent.ts';

Object.assign(process.env, fakeComputeLibraries());
// TF32 in convolutions differs from the CPU more than float32 does.
backends.cudnn.allowTf32 = false;
const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);

interface Training {
  readonly model: nn.Module;
  readonly optimizer: optim.Optimizer;
  readonly lossOf: (x: Tensor, y: Tensor) => Tensor;
  readonly batch: readonly [x: Tensor, y: Tensor];
  readonly clips?: boolean;
}

const imagesOf = (...shape: number[]) => {
  const length = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Float32Array.from({ length }, (_, i) => (((i * 37) % 127) - 63) / 64),
    shape,
  );
};

const integersOf = (below: number, ...shape: number[]) => {
  const length = shape.reduce((product, size) => product * size, 1);
  return tensor(
    BigInt64Array.from({ length }, (_, i) => BigInt((i * 7) % below)),
    shape,
  );
};

const trainings: Record<string, () => Training> = {
  'the MNIST CNN with SGD': () => {
    const model = new Net();
    return {
      model,
      optimizer: new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.5 }),
      lossOf: (x, y) => F.nllLoss(model.forward(x), y),
      batch: [imagesOf(6, 1, 28, 28), integersOf(10, 6)],
    };
  },
  'the CIFAR CNN with Adam': () => {
    const model = new Cnn();
    return {
      model,
      optimizer: new optim.Adam(model.parameters(), { lr: 0.001 }),
      lossOf: (x, y) => F.nllLoss(model.forward(x), y),
      batch: [imagesOf(4, 3, 32, 32), integersOf(10, 4)],
    };
  },
  'residual blocks with SGD': () => {
    const model = new nn.Sequential(
      new nn.Conv2d(3, 8, 3, { padding: 1 }),
      new BasicBlock(8, 8, 1),
      new BasicBlock(8, 12, 2),
      new nn.Flatten(),
      new nn.Linear(12 * 16, 10),
    );
    return {
      model,
      optimizer: new optim.SGD(model.parameters(), { lr: 0.01, momentum: 0.9, nesterov: true }),
      lossOf: (x, y) => F.crossEntropy(model.forward(x), y),
      batch: [imagesOf(2, 3, 8, 8), integersOf(10, 2)],
    };
  },
  'GPT with AdamW and clipped gradients': () => {
    const model = new GPT({ vocabSize: 11, context: 8, layers: 2, heads: 2, width: 16 });
    return {
      model,
      optimizer: new optim.AdamW(model.parameters(), { lr: 0.001 }),
      lossOf: (x, y) => F.crossEntropy(model.forward(x).view(-1, 11), y.view(-1)),
      batch: [integersOf(11, 3, 8), integersOf(9, 3, 8)],
      clips: true,
    };
  },
};

async function train(device: Device, name: string, compiled: boolean) {
  setDefaultDevice(device);
  manualSeed(5);
  const { model, optimizer, lossOf, batch, clips = false } = trainings[name]();
  const clip = { clipGradNorm: 0.5 };
  const step = compileStep(optimizer, lossOf, clips ? clip : {});
  const losses: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    if (compiled) losses.push(await (await step(...batch)).item());
    else {
      optimizer.zeroGrad();
      const loss = lossOf(...batch);
      await loss.backward();
      await optimizer.step(clips ? clip : {});
      losses.push(await loss.item());
    }
  }
  setDefaultDevice(undefined);
  return {
    losses,
    parameters: [...model.namedParameters()].map(([path, { data }]) => [path, data] as const),
  };
}

const names = Object.keys(trainings);
const inOneProgram = names.map((name) => [name, true] as const);
const inParts = names.map((name) => [name, false] as const);

test.each(ways([...inOneProgram, ...inParts.slice(-1)], inParts.slice(0, -1)))(
  '%s trains as on the CPU, in one program: %s',
  async (name, compiled) => {
    const [gpu, cpu] = [await train('cuda', name, compiled), await train('cpu', name, compiled)];
    for (const [i, loss] of cpu.losses.entries()) expect(gpu.losses[i]).toBeCloseTo(loss, 5);
    expect(gpu.losses[4]).toBeLessThan(gpu.losses[0]);
    for (const [index, [path, expected]] of cpu.parameters.entries()) {
      const [, found] = gpu.parameters[index];
      const worst = expected.reduce((most, element, i) => Math.max(most, Math.abs(element - found[i])), 0);
      expect(worst, path).toBeLessThan(1e-5);
    }
    const lines = written.mock.calls.map(([line]) => String(line));
    expect(lines.filter((line) => line.includes('runs on the CPU'))).toEqual([]);
  },
);
