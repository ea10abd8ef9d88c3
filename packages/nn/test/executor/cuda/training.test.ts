import { expect, test, vi } from 'vitest';
import { fakeComputeLibraries } from '../../../../../native/test/fake-gpu/libraries.ts';
import {
  F,
  compileStep,
  nn,
  optim,
  setDefaultDevice,
  tensor,
  type Device,
  type Tensor,
} from '../../../src/index.ts';
import { manualSeed } from '../../../src/random/generator.ts';
import { numbers } from '../../support/cuda.ts';
import { MnistCnn } from '../../support/mnist-cnn.ts';
import '../../support/one-thread.ts';

Object.assign(process.env, fakeComputeLibraries());
const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);

interface Training {
  readonly model: nn.Module & { forward(x: Tensor): Tensor };
  readonly optimizer: optim.Optimizer;
  readonly x: Tensor;
  readonly y: Tensor;
}

const classesOf = (count: number) =>
  tensor(BigInt64Array.from({ length: count }, (_, i) => BigInt((i * 7) % 10)));

const trainings: Record<string, () => Training> = {
  'the MNIST CNN with SGD': () => {
    const model = new MnistCnn();
    return {
      model,
      optimizer: new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.5 }),
      x: tensor(numbers([6, 1, 28, 28], 1), [6, 1, 28, 28]),
      y: classesOf(6),
    };
  },
};

async function train(device: Device, name: string, compiled: boolean) {
  setDefaultDevice(device);
  manualSeed(5);
  const { model, optimizer, x, y } = trainings[name]();
  const lossOf = (images: Tensor, classes: Tensor) => F.nllLoss(model.forward(images), classes);
  const step = compileStep(optimizer, lossOf);
  const losses: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    if (compiled) losses.push(await (await step(x, y)).item());
    else {
      optimizer.zeroGrad();
      const loss = lossOf(x, y);
      await loss.backward();
      await optimizer.step();
      losses.push(await loss.item());
    }
  }
  setDefaultDevice(undefined);
  return {
    losses,
    parameters: [...model.namedParameters()].map(([path, { data }]) => [path, data] as const),
  };
}

test.each(Object.keys(trainings).flatMap((name) => [[name, true] as const, [name, false] as const]))(
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
    expect(written.mock.calls).toEqual([]);
  },
);
