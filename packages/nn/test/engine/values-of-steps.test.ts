import { registry } from '@ringrun/core';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { compileStep, F, nn, noGrad, optim, programCache, tensor, type Tensor } from '../../src/index.ts';
import { manualSeed } from '../../src/random/generator.ts';

/** Names of the programs that ran. */
let ran: string[] = [];

beforeEach(() => {
  // Programs of earlier tests already write the values that those read.
  programCache.clear();
  ran = [];
  registry.activityObserver = (lane, name) => {
    if (lane === 'compute') ran.push(name);
  };
});

afterEach(() => {
  registry.activityObserver = undefined;
  vi.restoreAllMocks();
});

const rows = 6;

function batch(seed: number) {
  const features = Float32Array.from({ length: rows * 4 }, (_, i) => Math.sin(seed * 100 + i));
  const labels = BigInt64Array.from({ length: rows }, (_, i) => BigInt((i + seed) % 3));
  return { features: tensor(features, [rows, 4]), labels: tensor(labels) };
}

class Classifier extends nn.Module {
  readonly first = new nn.Linear(4, 8);
  readonly last = new nn.Linear(8, 3);

  forward(features: Tensor): { hidden: Tensor; logits: Tensor } {
    const hidden = F.relu(this.first.forward(features));
    return { hidden, logits: this.last.forward(hidden) };
  }
}

function classifier(): Classifier {
  manualSeed(3);
  return new Classifier();
}

function accuracy(logits: Tensor, labels: Tensor): Tensor {
  return logits.argmax(1).eq(labels).to('float32').mean();
}

interface Step {
  readonly hidden: Tensor;
  readonly logits: Tensor;
  readonly labels: Tensor;
  readonly parts: readonly Tensor[];
  readonly update: () => Promise<void>;
}

/** One step after another, and what `read` returns for the logits and the parts of each. */
async function train<Read>(
  steps: number,
  read: (step: Step) => Promise<Read>,
): Promise<{ values: Read[]; model: Classifier }> {
  const model = classifier();
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.5 });
  const values: Read[] = [];
  for (let i = 0; i < steps; i += 1) {
    const { features, labels } = batch(i);
    const { hidden, logits } = model.forward(features);
    const parts = [F.crossEntropy(logits, labels), logits.square().mean()];
    optimizer.zeroGrad();
    await parts[0].add(parts[1].mul(0.1)).backward();
    values.push(await read({ hidden, logits, labels, parts, update: () => optimizer.step() }));
  }
  return { values, model };
}

const weightsOf = (model: nn.Module) => [...model.parameters()].map(({ data }) => [...data]);

describe('values of a step', () => {
  test('that were read once are outputs of later steps, and are read after the update', async () => {
    const early = await train(4, async ({ hidden, logits, labels, update }) => {
      const number = await accuracy(logits, labels).item();
      const elements = [...(await hidden.array())];
      await update();
      return { number, elements };
    });
    programCache.clear();
    const late = await train(4, async ({ hidden, logits, labels, update }) => {
      await update();
      return { number: await accuracy(logits, labels).item(), elements: [...(await hidden.array())] };
    });
    expect(late.values).toEqual(early.values);
    expect(weightsOf(late.model)).toEqual(weightsOf(early.model));
  });

  test('cost no second forward pass from the second step on', async () => {
    const { values } = await train(4, async ({ hidden, update }) => {
      ran = [];
      await update();
      await hidden.array();
      return ran.filter((name) => name === 'forward').length;
    });
    expect(values).toEqual([1, 0, 0, 0]);
  });

  test('are compiled into the program once', async () => {
    const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
    await train(5, async ({ hidden, update }) => {
      await update();
      await hidden.array();
    });
    const names = compile.mock.calls.map(([{ name }]) => name);
    expect(names.filter((name) => name === 'forward and backward')).toHaveLength(2);
  });

  test('are known after each step, without an earlier read: parts of the loss and outputs of the model', async () => {
    const { values } = await train(3, async ({ logits, parts, update }) => {
      await update();
      if (ran.filter((name) => name === 'optimizer.step').length < 3) return undefined;
      ran = [];
      const read = [logits, ...parts].map(async (part) => [...(await part.array())]);
      return [...(await Promise.all(read)), ran.length];
    });
    const { values: early } = await train(3, async ({ logits, parts, update }) => {
      const read = [logits, ...parts].map(async (part) => [...(await part.mul(1).array())]);
      const numbers = await Promise.all(read);
      await update();
      return [...numbers, 0];
    });
    expect(values).toEqual([undefined, undefined, early[2]]);
  });

  test('are the same bits as without reads', async () => {
    const read = await train(5, async ({ hidden, logits, labels, update }) => {
      await update();
      return await accuracy(logits, labels).add(hidden.mean()).item();
    });
    programCache.clear();
    const unread = await train(5, async ({ update }) => {
      await update();
    });
    expect(weightsOf(read.model)).toEqual(weightsOf(unread.model));
  });

  test('stay when a later step of the same structure has ended', async () => {
    const kept: Tensor[] = [];
    const { values } = await train(3, async ({ hidden, update }) => {
      kept.push(hidden);
      await update();
      return [...(await hidden.array())];
    });
    for (const [index, hidden] of kept.entries()) expect([...(await hidden.array())]).toEqual(values[index]);
  });

  test('that were not read in the first step are outdated after the update, with a remedy', async () => {
    await train(3, async ({ hidden, update }) => {
      await update();
      if (ran.filter((name) => name === 'optimizer.step').length < 3) return;
      await expect(hidden.array()).rejects.toThrow('before optimizer.step() changed it');
    });
  });

  test('of a layer with statistics and of dropout are those of the step', async () => {
    manualSeed(8);
    const model = new nn.Sequential(
      new nn.Linear(4, 8),
      new nn.BatchNorm1d(8),
      new nn.Dropout(0.5),
      new nn.LayerNorm(8),
      new nn.Linear(8, 3),
    );
    const optimizer = new optim.Adam(model.parameters());
    for (let i = 0; i < 3; i += 1) {
      const { features, labels } = batch(i);
      const logits = model.forward(features);
      const loss = F.crossEntropy(logits, labels);
      optimizer.zeroGrad();
      await loss.backward();
      await optimizer.step();
      expect(await F.crossEntropy(tensor(await logits.array(), [rows, 3]), labels).item()).toBeCloseTo(
        await loss.item(),
        6,
      );
    }
  });
});

describe('a GAN', () => {
  const [noise, real] = [
    tensor(Float32Array.of(0.1, -0.4, 0.7, 0.2), [2, 2]),
    tensor(Float32Array.of(1, 2), [2, 1]),
  ];

  async function trainGan(steps: number, fakeOf: (fake: Tensor) => Tensor): Promise<number[][]> {
    manualSeed(5);
    const [generator, judge] = [new nn.Linear(2, 1), new nn.Linear(1, 1)];
    const [first, second] = [generator, judge].map((model) => new optim.SGD(model.parameters(), { lr: 0.1 }));
    for (let i = 0; i < steps; i += 1) {
      const fake = generator.forward(noise);
      first.zeroGrad();
      const constant = fakeOf(fake);
      await judge.forward(fake).neg().mean().backward();
      await first.step();
      second.zeroGrad();
      await judge.forward(constant).mean().sub(judge.forward(real).mean()).backward();
      await second.step();
    }
    return [...weightsOf(generator), ...weightsOf(judge)];
  }

  test('computes fake images once for both losses, though the generator has changed between them', async () => {
    const forward = () => ran.filter((name) => name === 'forward').length;
    const shared = await trainGan(3, (fake) => fake.detach());
    // Before the second step of this structure, the images are computed again from the first parameters.
    expect(forward()).toBe(1);
    expect(shared.flat().every(Number.isFinite)).toBe(true);
  });

  test('has the weights of a program that reads the images before the update', async () => {
    manualSeed(5);
    const [generator, judge] = [new nn.Linear(2, 1), new nn.Linear(1, 1)];
    const [first, second] = [generator, judge].map((model) => new optim.SGD(model.parameters(), { lr: 0.1 }));
    for (let i = 0; i < 3; i += 1) {
      const fake = generator.forward(noise);
      const known = noGrad(() => tensor(fake.arraySync(), fake.shape));
      first.zeroGrad();
      await judge.forward(fake).neg().mean().backward();
      await first.step();
      second.zeroGrad();
      await judge.forward(known).mean().sub(judge.forward(real).mean()).backward();
      await second.step();
    }
    programCache.clear();
    expect(await trainGan(3, (fake) => fake.detach())).toEqual([
      ...weightsOf(generator),
      ...weightsOf(judge),
    ]);
  });
});

describe('compileStep with auxiliary values', () => {
  const made = (traceOnce: boolean) => {
    const model = classifier();
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.5 });
    const step = compileStep(
      optimizer,
      (features: Tensor, labels: Tensor) => {
        const { logits } = model.forward(features);
        const loss = F.crossEntropy(logits, labels);
        return [loss, { accuracy: accuracy(logits, labels), more: [logits, labels] }] as const;
      },
      { traceOnce },
    );
    return { model, step };
  };

  test.each([false, true])('returns them in the form of the function (traceOnce %s)', async (traceOnce) => {
    const { model, step } = made(traceOnce);
    const plain = await train(3, async ({ update }) => {
      await update();
    });
    expect(plain.values).toHaveLength(3);
    for (let i = 0; i < 3; i += 1) {
      const { features, labels } = batch(i);
      const expected = noGrad(() => model.forward(features).logits);
      const logits = await expected.array();
      const known = await accuracy(expected, labels).item();
      const [loss, { accuracy: number, more }] = await step(features, labels);
      expect([...(await more[0].array())].map((x) => Number(x).toFixed(5))).toEqual(
        [...logits].map((x) => Number(x).toFixed(5)),
      );
      expect(await more[1].array()).toEqual(await labels.array());
      expect(await number.item()).toBe(known);
      expect(await F.crossEntropy(more[0], labels).item()).toBeCloseTo(await loss.item(), 6);
      expect(more[0].requiresGrad).toBe(false);
    }
  });

  test('runs one program for each step', async () => {
    const { step } = made(false);
    ran = [];
    for (let i = 0; i < 3; i += 1) {
      const { features, labels } = batch(i);
      const [loss, { accuracy: number }] = await step(features, labels);
      await Promise.all([loss.item(), number.item()]);
    }
    expect(ran).toEqual(['step', 'step', 'step']);
  });

  test('returns those of each batch', async () => {
    const batches = [0, 1, 2, 3].map((seed) => Object.values(batch(seed)) as [Tensor, Tensor]);
    const single = made(true);
    const expected: number[][] = [];
    for (const one of batches) {
      const [, { more }] = await single.step(...one);
      expected.push([...((await more[0].array()) as Float32Array)]);
    }
    const together = await made(true).step.each(batches);
    const seen = await Promise.all(together.map(async ([, { more }]) => [...(await more[0].array())]));
    expect(seen).toEqual(expected);
  });

  test.each([
    [
      'an accuracy that is a number',
      (loss: Tensor) => [loss, { accuracy: 0.5 }],
      'got 0.5 as the second element.accuracy',
    ],
    ['a list of one', (loss: Tensor) => [loss], 'Return the loss, or [loss, { other: tensors }]'],
    ['a promise', (loss: Tensor) => Promise.resolve(loss), 'the function is not async'],
    [
      'three elements',
      (loss: Tensor) => [loss, loss, loss],
      'Return the loss, or [loss, { other: tensors }]',
    ],
  ])('refuses %s', async (_, wrong, message) => {
    const model = classifier();
    const step = compileStep(new optim.SGD(model.parameters(), { lr: 0.5 }), ((features: Tensor) =>
      wrong(model.forward(features).logits.sum())) as unknown as (features: Tensor) => Tensor);
    const before = weightsOf(model);
    await expect(step(batch(0).features)).rejects.toThrow(message);
    expect(weightsOf(model)).toEqual(before);
  });
});
