import { describe, expect, test, vi } from 'vitest';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import {
  compileStep,
  F,
  manualSeed,
  nn,
  noGrad,
  optim,
  programCache,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { gradientSink } from '../support/gradient-sink.ts';
import { smallBatch as batch } from '../support/small-cnn.ts';
import '../support/one-thread.ts';

class Net extends nn.Module {
  conv = new nn.Conv2d(1, 4, 3, { padding: 1 });
  norm = new nn.BatchNorm2d(4);
  fc = new nn.Linear(4 * 6 * 6, 5);

  forward(images: Tensor): Tensor {
    const pooled = F.maxPool2d(F.relu(this.norm.forward(this.conv.forward(images))), 2);
    return F.logSoftmax(this.fc.forward(pooled.flatten(1)), 1);
  }
}

function seeded(): Net {
  manualSeed(3);
  return new Net();
}

const lossOf = (model: Net) => (images: Tensor, labels: Tensor) => F.nllLoss(model.forward(images), labels);

type Makes = (model: nn.Module) => optim.Optimizer;

async function separately(model: Net, optimizer: optim.Optimizer, given: [Tensor, Tensor]): Promise<number> {
  const loss = lossOf(model)(...given);
  optimizer.zeroGrad();
  await loss.backward();
  await optimizer.step();
  return await loss.item();
}

/** All state that a step changes. */
const stateOf = (model: Net, optimizer: optim.Optimizer) => ({
  tensors: [...model.namedParameters(), ...model.namedBuffers()].map(([name, { data }]) => [name, [...data]]),
  gradients: [...model.parameters()].map(({ grad }) => grad && [...grad]),
  optimizer: optimizer.stateDict(),
});

const makers: [name: string, makes: Makes][] = [
  ['SGD', (model) => new optim.SGD(model.parameters(), { lr: 0.1 })],
  [
    'SGD with momentum',
    (model) =>
      new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9, weightDecay: 0.01, nesterov: true }),
  ],
  ['Adam', (model) => new optim.Adam(model.parameters(), { lr: 0.01, amsgrad: true, weightDecay: 0.01 })],
  ['AdamW', (model) => new optim.AdamW(model.parameters(), { lr: 0.01 })],
  ['RMSprop', (model) => new optim.RMSprop(model.parameters(), { lr: 0.01, momentum: 0.5, centered: true })],
  ['Adadelta', (model) => new optim.Adadelta(model.parameters(), { lr: 0.5 })],
];

describe('a compiled step', () => {
  test.each(makers)('is bit-identical to backward and step: %s', async (_, makes) => {
    const [model, other] = [seeded(), seeded()];
    const [optimizer, otherOptimizer] = [makes(model), makes(other)];
    const step = compileStep(optimizer, lossOf(model));
    for (const seed of [1, 2, 3]) {
      const loss = await step(...batch(seed));
      expect(await loss.item()).toBe(await separately(other, otherOptimizer, batch(seed)));
      expect(stateOf(model, optimizer)).toEqual(stateOf(other, otherOptimizer));
    }
  });

  test('is one program, reused for new numbers but not for a new shape', async () => {
    const model = seeded();
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const step = compileStep(optimizer, lossOf(model));
    programCache.clear();
    const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
    await step(...batch(1));
    optimizer.paramGroups[0].lr = 0.2;
    await step(...batch(2));
    expect(compile).toHaveBeenCalledTimes(1);
    await step(...batch(3, 7));
    expect(compile).toHaveBeenCalledTimes(2);
    compile.mockRestore();
  });

  test('runs in call order, with the settings at the call, beside other operations', async () => {
    const [model, other] = [seeded(), seeded()];
    const makes = (of: Net) => new optim.SGD(of.parameters(), { lr: 0.1, momentum: 0.9 });
    const [optimizer, otherOptimizer] = [makes(model), makes(other)];
    const step = compileStep(optimizer, lossOf(model));
    const first = step(...batch(1));
    optimizer.paramGroups[0].lr = 0.5;
    const second = step(...batch(2));
    const output = noGrad(() => model.eval().forward(batch(3)[0])).array();
    model.train();
    await Promise.all([first, second]);
    await separately(other, otherOptimizer, batch(1));
    otherOptimizer.paramGroups[0].lr = 0.5;
    await separately(other, otherOptimizer, batch(2));
    expect(stateOf(model, optimizer)).toEqual(stateOf(other, otherOptimizer));
    expect(await output).toEqual(await noGrad(() => other.eval().forward(batch(3)[0])).array());
  });

  test('leaves parameters that the loss does not reach, and their states, unchanged', async () => {
    const model = seeded();
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.1 });
    const before = [...model.fc.weight.data];
    const step = compileStep(optimizer, (images: Tensor) => model.conv.forward(images).mean());
    await step(batch(1)[0]);
    expect([...model.fc.weight.data]).toEqual(before);
    expect(model.fc.weight.grad).toBeUndefined();
    expect(Object.keys(optimizer.stateDict().state)).toEqual(['0', '1']);
  });

  test('follows a sink that averages by JavaScript, in several runs', async () => {
    const [model, other] = [seeded(), seeded()];
    const makes = (of: Net) => new optim.SGD(of.parameters(), { lr: 0.1 });
    const [optimizer, otherOptimizer] = [makes(model), makes(other)];
    const ended: string[] = [];
    const sink = gradientSink({
      bucketReady: () => void ended.push('ready'),
      done: async () => {
        for (const { grad } of model.parameters())
          for (const [i, number] of grad!.entries()) grad![i] = number / 2;
        await Promise.resolve(ended.push('done'));
      },
    });
    for (const parameter of model.parameters()) parameter.gradientSink = sink;
    await compileStep(optimizer, lossOf(model))(...batch(1));
    const loss = lossOf(other)(...batch(1));
    await loss.backward();
    for (const { grad } of other.parameters())
      for (const [i, number] of grad!.entries()) grad![i] = number / 2;
    await otherOptimizer.step();
    expect(ended).toEqual(['ready', 'done']);
    expect(stateOf(model, optimizer)).toEqual(stateOf(other, otherOptimizer));
  });

  test('that fails changes nothing, and later steps succeed', async () => {
    const model = seeded();
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const before = stateOf(model, optimizer);
    const step = compileStep(optimizer, (images: Tensor) => model.forward(images));
    await expect(step(batch(1)[0])).rejects.toThrow(
      'expected a loss of one float32 number, got float32[6,5]',
    );
    expect(stateOf(model, optimizer)).toEqual(before);
    const apart = compileStep(optimizer, () => tensor(Float32Array.of(1)).sum());
    await expect(apart()).rejects.toThrow('the loss does not depend on any Parameter');
    await compileStep(optimizer, lossOf(model))(...batch(1));
    expect(stateOf(model, optimizer)).not.toEqual(before);
  });

  test('rejects values other than an optimizer, a function or a loss, and unlisted layers', async () => {
    const model = seeded();
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    expect(() => compileStep(model as never, lossOf(model))).toThrow(
      'compileStep: expected an optimizer, got',
    );
    expect(() => compileStep(optimizer, 1 as never)).toThrow(
      'expected a function that returns the loss, got',
    );
    const wrong = compileStep(optimizer, (() => Promise.resolve()) as never);
    await expect(wrong()).rejects.toThrow('expected a function that returns a tensor, got');
    const hidden = new nn.Linear(5, 1);
    const step = compileStep(optimizer, (images: Tensor) => hidden.forward(model.forward(images)).mean());
    await expect(step(batch(1)[0])).rejects.toThrow('has a gradient but would not be trained');
  });
});
