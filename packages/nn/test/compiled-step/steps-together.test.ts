import { expect, test, vi } from 'vitest';
import { ProgramBinding } from '../../src/executor/cpu/program-binding.ts';
import {
  ArgumentError,
  compileStep,
  F,
  manualSeed,
  optim,
  tensor,
  type CompileStepOptions,
  type Parameter,
  type Tensor,
} from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { gradientSink } from '../support/gradient-sink.ts';
import { SmallCnn, smallBatch as batch } from '../support/small-cnn.ts';
import '../support/one-thread.ts';

type Batch = ReturnType<typeof batch>;

const batches = (first: number, count: number, size?: number) =>
  Array.from({ length: count }, (_, i) => batch(first + i, size));

type MakeOptimizer = (parameters: Iterable<Parameter>) => optim.Optimizer;

const sgd: MakeOptimizer = (parameters) => new optim.SGD(parameters, { lr: 0.1, momentum: 0.9 });

interface Settings {
  optimizer?: MakeOptimizer;
  options?: CompileStepOptions;
  prepare?: (model: SmallCnn) => unknown;
}

/** A model whose steps are computed with `options`. */
function training({ optimizer: make = sgd, options = {}, prepare = (model) => model.eval() }: Settings = {}) {
  manualSeed(3);
  const model = new SmallCnn();
  prepare(model);
  const optimizer = make(model.parameters());
  const calls = { count: 0 };
  const step = compileStep(
    optimizer,
    (...[images, labels]: Batch) => {
      calls.count += 1;
      return F.nllLoss(model.forward(images), labels);
    },
    { traceOnce: true, ...options },
  );
  const parameters = () => [...model.parameters()].map(({ data }) => [...data]);
  const state = () => ({
    parameters: parameters(),
    gradients: [...model.parameters()].map(({ grad }) => grad && [...grad]),
    optimizer: optimizer.stateDict(),
    norm: optimizer.gradNorm,
  });
  return { model, optimizer, step, calls, parameters, state };
}

const numbers = (losses: readonly Tensor[]) => Promise.all(losses.map((loss) => loss.item()));

async function inTurn(step: (...given: Batch) => Promise<Tensor>, list: readonly Batch[]): Promise<number[]> {
  const losses: number[] = [];
  for (const one of list) losses.push(await (await step(...one)).item());
  return losses;
}

const optimizers: Readonly<Record<string, MakeOptimizer>> = {
  SGD: (parameters) => new optim.SGD(parameters, { lr: 0.1 }),
  'SGD with dampening': (parameters) => new optim.SGD(parameters, { lr: 0.1, momentum: 0.9, dampening: 0.5 }),
  Adam: (parameters) => new optim.Adam(parameters, { lr: 0.01 }),
  AdamW: (parameters) => new optim.AdamW(parameters, { lr: 0.01, amsgrad: true }),
  NAdam: (parameters) => new optim.NAdam(parameters, { lr: 0.01 }),
  // Its update has a different graph from the sixth step on.
  RAdam: (parameters) => new optim.RAdam(parameters, { lr: 0.01 }),
  RMSprop: (parameters) => new optim.RMSprop(parameters, { lr: 0.01, centered: true }),
  Adagrad: (parameters) => new optim.Adagrad(parameters, { lr: 0.01, lrDecay: 0.1 }),
  'two groups': (parameters) => {
    const [first, ...others] = parameters;
    return new optim.Adam([{ params: [first], lr: 0.02 }, { params: others }], { lr: 0.01 });
  },
};

test.each(Object.entries(optimizers))('each is bit-identical to single steps of %s', async (_, make) => {
  const [together, single] = [training({ optimizer: make }), training({ optimizer: make })];
  for (const [first, count] of [
    [1, 1],
    [2, 4],
    [6, 7],
    [13, 3],
  ]) {
    const losses = await numbers(await together.step.each(batches(first, count)));
    expect(losses).toEqual(await inTurn(single.step, batches(first, count)));
    expect(together.state()).toEqual(single.state());
  }
  expect(together.calls.count).toBe(1);
});

test.each([
  ['SGD', [5, 2]],
  ['Adam', [5, 2]],
  ['RAdam', [4, 1, 2]],
] as const)('steps of %s run in groups of %j', async (name, counts) => {
  const { step } = training({ optimizer: optimizers[name] });
  await step(...batch(1));
  const runs = vi.spyOn(ProgramBinding.prototype, 'runEach');
  const single = vi.spyOn(ProgramBinding.prototype, 'run');
  try {
    await step.each(batches(2, 5));
    await step.each(batches(7, 2));
    const together = runs.mock.calls.map(([later]) => 1 + later.length);
    expect([...together, ...single.mock.calls.map(() => 1)].sort()).toEqual([...counts].sort());
  } finally {
    vi.restoreAllMocks();
  }
});

test.each([
  ['clipGradNorm', { clipGradNorm: 0.05 }],
  ['clipGradValue', { clipGradValue: 0.001 }],
  ['errorIfNonfinite', { clipGradNorm: { maxNorm: 0.05, errorIfNonfinite: true } }],
  ['traceOnce: false', { traceOnce: false }],
  ['copyInputs: false', { copyInputs: false }],
])('each is bit-identical to single steps with %s', async (_, options) => {
  const [together, single] = [training({ options }), training({ options })];
  for (const first of [1, 4]) {
    const losses = await numbers(await together.step.each(batches(first, 3)));
    expect(losses).toEqual(await inTurn(single.step, batches(first, 3)));
    expect(together.state()).toEqual(single.state());
  }
});

test('each is bit-identical to single steps if the loss is traced at every call', async () => {
  const settings: Settings = { prepare: (model) => model.train() };
  const [together, single] = [training(settings), training(settings)];
  for (const first of [1, 4]) {
    manualSeed(first);
    const losses = await numbers(await together.step.each(batches(first, 3)));
    manualSeed(first);
    expect(losses).toEqual(await inTurn(single.step, batches(first, 3)));
    expect(together.parameters()).toEqual(single.parameters());
  }
  expect(together.calls.count).toBe(6);
});

test('each is bit-identical to single steps if JavaScript averages the gradients', async () => {
  const [together, single] = [training(), training()];
  for (const { model } of [together, single]) {
    const sink = gradientSink();
    for (const parameter of model.fc.parameters()) parameter.gradientSink = sink;
  }
  for (const first of [1, 4]) {
    const losses = await numbers(await together.step.each(batches(first, 3)));
    expect(losses).toEqual(await inTurn(single.step, batches(first, 3)));
  }
  expect(together.parameters()).toEqual(single.parameters());
});

test('each accepts batches of several shapes, in order', async () => {
  const [together, single] = [training(), training()];
  const list = [...batches(1, 3), ...batches(4, 2, 4), ...batches(6, 2), ...batches(8, 1, 4)];
  for (let round = 0; round < 2; round += 1) {
    expect(await numbers(await together.step.each(list))).toEqual(await inTurn(single.step, list));
    expect(together.state()).toEqual(single.state());
  }
  expect(together.calls.count).toBe(2);
  expect(await together.step.each([])).toEqual([]);
});

test('calls of each and of single steps run in order, even if they are not awaited', async () => {
  const [together, single] = [training(), training()];
  for (const { step } of [together, single]) await step(...batch(9));
  const [first, second, third] = [
    together.step.each(batches(1, 3)),
    together.step(...batch(4)),
    together.step.each(batches(5, 2)),
  ];
  const losses = await numbers([...(await first), await second, ...(await third)]);
  expect(losses).toEqual(await inTurn(single.step, batches(1, 6)));
  expect(together.parameters()).toEqual(single.parameters());
});

test('each fails if any batch is changed or transferred during the run', async () => {
  const { step } = training();
  await step(...batch(1));
  for (const change of [
    (array: Float32Array<ArrayBuffer>) => array.fill(0.5),
    (array: Float32Array<ArrayBuffer>) => structuredClone(array, { transfer: [array.buffer] }),
  ]) {
    const shape = [6, 1, 12, 12];
    const images = new Float32Array(fill(shape, 2));
    const pending = step.each([batch(1), [tensor(images, shape), batch(2)[1]], batch(3)]);
    change(images);
    await expect(pending).rejects.toMatchObject({
      code: 'ERR_NOT_AWAITED',
      message: expect.stringContaining('Write await step.each(…) before you change the arrays') as string,
    });
  }
  expect(await step.each(batches(4, 2))).toHaveLength(2);
});

test('each rejects an invalid batch, and computes no step of the same graph', async () => {
  const { step, parameters } = training();
  await step.each(batches(1, 2));
  const before = parameters();
  const wrong: Batch = [batch(9)[0], tensor(BigInt64Array.of(0n, 1n, 2n, 3n, 4n, 5n))];
  await expect(step.each([...batches(7, 2), wrong, batch(9)])).rejects.toThrow('got 5 at index 5');
  const given: unknown[] = [undefined, batch(1), [batch(1), 3], 'text'];
  for (const list of given) {
    await expect(step.each(list as Batch[])).rejects.toThrow(ArgumentError);
    await expect(step.each(list as Batch[])).rejects.toThrow('expected a list of batches');
  }
  expect(parameters()).toEqual(before);
  expect(await step.each(batches(7, 3))).toHaveLength(3);
});

test('the error of a failing step is the error of each, and later calls succeed', async () => {
  const { step } = training();
  await step.each(batches(1, 2));
  const shape = [6, 1, 12, 12];
  const images = new Float32Array(fill(shape, 2));
  const transferred = tensor(images, shape);
  structuredClone(images, { transfer: [images.buffer] });
  await expect(step.each([batch(3), [transferred, batch(4)[1]]])).rejects.toThrow('got 0');
  expect(await step.each(batches(5, 2))).toHaveLength(2);
});
