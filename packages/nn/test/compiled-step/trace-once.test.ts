import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { compileStep, F, manualSeed, nn, optim, tensor, type Tensor } from '../../src/index.ts';
import { fill, fillClasses } from '../support/fill.ts';
import { gradientSink } from '../support/gradient-sink.ts';
import { SmallCnn, smallBatch as batch } from '../support/small-cnn.ts';
import '../support/one-thread.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

interface PairSettings {
  prepare?: (model: SmallCnn) => unknown;
  trained?: (model: SmallCnn) => nn.Module;
  copyInputs?: boolean;
}

/** Two equal models, one of which is traced once. */
function pair({
  prepare = (model) => model.eval(),
  trained = (model) => model,
  copyInputs = true,
}: PairSettings = {}) {
  const [once, always] = [true, false].map((traceOnce) => {
    manualSeed(3);
    const model = new SmallCnn();
    prepare(model);
    const optimizer = new optim.SGD(trained(model).parameters(), { lr: 0.1, momentum: 0.9 });
    const calls = { count: 0 };
    const lossOf = (images: Tensor, labels: Tensor, smoothing = 0) => {
      calls.count += 1;
      return F.crossEntropy(model.forward(images), labels, { labelSmoothing: smoothing });
    };
    return { model, optimizer, calls, step: compileStep(optimizer, lossOf, { traceOnce, copyInputs }) };
  });
  const parametersOf = ({ model }: typeof once) => [...model.parameters()].map(({ data }) => [...data]);
  const stepBoth = async (...given: Parameters<typeof once.step>) => {
    manualSeed(given[0].shape[0]);
    const loss = await (await once.step(...given)).item();
    manualSeed(given[0].shape[0]);
    expect(loss).toBe(await (await always.step(...given)).item());
    expect(parametersOf(once)).toEqual(parametersOf(always));
  };
  return { once, always, stepBoth };
}

test('a step traced once is bit-identical, and calls the function once per argument type', async () => {
  const { once, always, stepBoth } = pair();
  for (const seed of [1, 2, 3]) await stepBoth(...batch(seed));
  expect(once.calls.count).toBe(1);
  for (const seed of [4, 5]) await stepBoth(...batch(seed, 4));
  for (const seed of [6, 7]) await stepBoth(...batch(seed), 0.1);
  await stepBoth(...batch(8));
  expect(once.calls.count).toBe(3);
  expect(always.calls.count).toBe(8);
});

test('a step traced once follows the optimizer’s settings, and returns a loss per call', async () => {
  const { once, always, stepBoth } = pair();
  for (const seed of [1, 2]) await stepBoth(...batch(seed));
  for (const { optimizer } of [once, always]) optimizer.paramGroups[0].lr = 0.01;
  await stepBoth(...batch(3));
  const together = await Promise.all([once.step(...batch(4)), once.step(...batch(5))]);
  const inTurn = [await always.step(...batch(4)), await always.step(...batch(5))];
  const numbers = (losses: Tensor[]) => Promise.all(losses.map((loss) => loss.item()));
  expect(await numbers(together)).toEqual(await numbers(inTurn));
  expect(once.calls.count).toBe(1);
});

test('a step traced once reads the elements at the time of the call', async () => {
  const { once, always } = pair();
  await Promise.all([once, always].map(({ step }) => step(...batch(1))));
  const shape = [6, 1, 12, 12];
  const reused = fill(shape, 2);
  const labels = tensor(fillClasses(6, 5, 2));
  const pending = once.step(tensor(reused, shape), labels);
  reused.fill(0);
  const loss = await (await pending).item();
  expect(loss).toBe(await (await always.step(tensor(fill(shape, 2), shape), labels)).item());
});

test('a step traced once follows states, momentum and groups of the optimizer', async () => {
  const { once, always, stepBoth } = pair({
    // Lists the parameters that no optimizer has.
    prepare: (model) => [...model.eval().parameters()],
    trained: ({ conv }) => conv,
  });
  const [first, second] = [once, always].map(({ optimizer }) => optimizer);
  const severalSteps = async () => {
    for (const seed of [1, 2, 3]) await stepBoth(...batch(seed));
  };
  await severalSteps();
  const saved = first.stateDict();
  await severalSteps();
  for (const optimizer of [first, second]) optimizer.loadStateDict(saved);
  await severalSteps();
  for (const { paramGroups } of [first, second]) paramGroups[0].momentum = 0;
  await severalSteps();
  for (const { paramGroups } of [first, second]) {
    paramGroups[0].momentum = 0.5;
    paramGroups[0].nesterov = true;
  }
  await severalSteps();
  for (const { model, optimizer } of [once, always]) {
    optimizer.addParamGroup({ params: [...model.fc.parameters()], lr: 0.01 });
  }
  await severalSteps();
});

test('without copies of its inputs, a step is bit-identical with reused arrays', async () => {
  const copied = pair().always;
  const { once, always } = pair({ copyInputs: false });
  const shape = [6, 1, 12, 12];
  const [images, labels] = [new Float32Array(6 * 12 * 12), new BigInt64Array(6)];
  for (const seed of [1, 2, 3, 4]) {
    images.set(fill(shape, seed));
    labels.set(fillClasses(6, 5, seed));
    const losses: number[] = [];
    for (const { step } of [once, always, copied]) {
      losses.push(await (await step(tensor(images, shape), tensor(labels))).item());
    }
    expect(losses).toEqual([losses[0], losses[0], losses[0]]);
  }
  expect(once.calls.count).toBe(1);
});

test.each(['once', 'always'] as const)(
  'without copies, a step traced %s fails if its batch is changed or transferred',
  async (which) => {
    const { step } = pair({ copyInputs: false })[which];
    await step(...batch(1));
    for (const change of [
      (array: Float32Array<ArrayBuffer>) => array.fill(0.5),
      (array: Float32Array<ArrayBuffer>) => structuredClone(array, { transfer: [array.buffer] }),
    ]) {
      const shape = [6, 1, 12, 12];
      const images = new Float32Array(fill(shape, 2));
      const pending = step(tensor(images, shape), batch(2)[1]);
      change(images);
      await expect(pending).rejects.toMatchObject({
        code: 'ERR_NOT_AWAITED',
        message: expect.stringContaining('Write await step(…) before you change the arrays') as string,
      });
    }
    await expect(step(...batch(3))).resolves.toBeDefined();
  },
);

test('a step traced once continues after a failed call', async () => {
  const { once, always, stepBoth } = pair();
  for (const seed of [1, 2]) await stepBoth(...batch(seed));
  const [images, labels] = batch(3);
  const array = (images.elements() as Float32Array).slice();
  const transferred = tensor(array, [6, 1, 12, 12]);
  structuredClone(array, { transfer: [array.buffer] });
  for (const { step } of [once, always]) await expect(step(transferred, labels)).rejects.toThrow('got 0');
  for (const seed of [4, 5]) await stepBoth(...batch(seed));
  expect(once.calls.count).toBe(1);
});

test('a step is traced again after a change of mode, frozen parameters or gradient sink', async () => {
  const { once, always, stepBoth } = pair();
  for (const seed of [1, 2]) await stepBoth(...batch(seed));
  for (const { model } of [once, always]) model.conv.requiresGrad(false);
  for (const seed of [3, 4]) await stepBoth(...batch(seed));
  expect(once.calls.count).toBe(2);
  for (const { model } of [once, always]) {
    const sink = gradientSink();
    for (const parameter of model.fc.parameters()) parameter.gradientSink = sink;
  }
  for (const seed of [5, 6]) await stepBoth(...batch(seed));
  expect(once.calls.count).toBe(3);
  // Dropout has a new key at every call.
  for (const { model } of [once, always]) model.train();
  for (const seed of [7, 8]) await stepBoth(...batch(seed));
  expect(once.calls.count).toBe(5);
});

test('a loss of computed arguments and of tensors made in the function is traced at every call', async () => {
  const { once } = pair();
  for (const seed of [1, 2]) {
    const [images, labels] = batch(seed);
    await once.step(images.mul(0.5), labels);
  }
  expect(once.calls.count).toBe(2);
  let scale = 1;
  const inside = compileStep(
    once.optimizer,
    (images: Tensor) =>
      once.model
        .forward(images)
        .mul(tensor(Float32Array.of((scale *= 2))))
        .sum(),
    { traceOnce: true },
  );
  for (const seed of [1, 2]) await inside(batch(seed)[0]);
  expect(scale).toBe(4);
});

test('a loss that reads the elements of its arguments is traced at every call', async () => {
  const { once } = pair();
  let calls = 0;
  const step = compileStep(
    once.optimizer,
    (images: Tensor, labels: Tensor) => {
      calls += 1;
      const scale = Number(labels.elements()![0]) + 1;
      return F.crossEntropy(once.model.forward(images), labels).mul(scale);
    },
    { traceOnce: true },
  );
  for (const seed of [1, 2]) await step(...batch(seed));
  expect(calls).toBe(2);
});

test('a step traced once does not keep the batch of its first call', async () => {
  const { once } = pair();
  const first = await (async () => {
    const [images, labels] = batch(1);
    await once.step(images, labels);
    return new WeakRef(images.value.node.attributes);
  })();
  for (const seed of [2, 3]) await once.step(...batch(seed));
  // A new WeakRef keeps its object until the event loop's next turn, and short steps need none.
  await setImmediate();
  collectGarbage();
  expect(first.deref()).toBeUndefined();
  expect(once.calls.count).toBe(1);
});

test('a step traced once checks classes and rows at each call, before changing anything', async () => {
  const words = new nn.Embedding(5, 4);
  const optimizer = new optim.SGD(words.parameters(), { lr: 0.1 });
  let calls = 0;
  const step = compileStep(
    optimizer,
    (rows: Tensor, classes: Tensor) => {
      calls += 1;
      return F.crossEntropy(words.forward(rows), classes);
    },
    { traceOnce: true },
  );
  const integers = (...numbers: number[]) => tensor(BigInt64Array.from(numbers, BigInt));
  await step(integers(0, 4), integers(0, 3));
  const before = words.weight.data.slice();
  await expect(step(integers(0, -1), integers(0, 3))).rejects.toThrow(
    'embedding: expected rows from 0 to 4, got -1 at index 1',
  );
  await expect(step(integers(0, 4), integers(4, 3))).rejects.toThrow(
    'crossEntropy: expected targets from 0 to 3 or ignoreIndex (-100), got 4 at index 0',
  );
  expect(words.weight.data).toEqual(before);
  await step(integers(0, 4), integers(0, 3));
  expect(calls).toBe(1);
});

test.each(['traceOnce', 'copyInputs'])('%s must be a boolean', (name) => {
  const { once } = pair();
  const lossOf = once.model.forward.bind(once.model);
  expect(() => compileStep(once.optimizer, lossOf, { [name]: 1 })).toThrow(`compileStep: ${name}`);
});
