import { describe, expect, test } from 'vitest';
import { F, NnError, Parameter, nn, noGrad, optim, tensor, type Tensor } from '../../src/index.ts';
import { gradientSink } from '../support/gradient-sink.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

const shape = [4, 3];
const batches = [1, 2, 3, 4].map((seed) => fill(shape, seed));

function madeModel(): nn.Linear {
  const model = new nn.Linear(3, 2);
  model.weight.data.set(fill([2, 3], 7));
  model.bias!.data.set([0.5, -0.25]);
  return model;
}

const lossOf = (model: nn.Linear, batch: Float32Array): Tensor => {
  const output = model.forward(tensor(batch, shape));
  return output.mul(output).mean();
};

/** A program that does not observe unawaited results. */
function forget(promise: Promise<unknown>): void {
  promise.catch(() => undefined);
}

const refusal = (code: NnError['code'], message: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(message) as string }) as NnError;

describe('a training loop without await', () => {
  async function train(awaits: boolean) {
    const model = madeModel();
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.1 });
    const scheduler = new optim.lrScheduler.StepLR(optimizer, 1, { gamma: 0.5 });
    const losses: Promise<number>[] = [];
    const batch = new Float32Array(12);
    for (const numbers of batches) {
      batch.set(numbers);
      const loss = lossOf(model, batch);
      optimizer.zeroGrad();
      const calls = [() => loss.backward(), () => optimizer.step()];
      for (const call of calls) {
        const promise = call();
        if (awaits) await promise;
      }
      scheduler.step();
      losses.push(loss.item());
    }
    return { losses: await Promise.all(losses), weight: await model.weight.array() };
  }

  test('trains the same numbers with one reused batch array, a scheduler and zeroGrad', async () => {
    const expected = await train(true);
    expect(new Set(expected.losses).size).toBe(batches.length);
    expect(await train(false)).toEqual(expected);
  });
});

describe('a step that was not awaited', () => {
  test('runs before the next evaluation and backward pass', async () => {
    const model = madeModel();
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    await lossOf(model, batches[0]).backward();
    const before = [...model.weight.data];
    forget(optimizer.step());
    const read = [...(await model.weight.array())];
    expect(read).not.toEqual(before);
    expect(read).toEqual([...model.weight.data]);
  });

  test('that fails rejects operations called before it ended, with its error', async () => {
    const model = madeModel();
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const loss = lossOf(model, batches[0]);
    forget(optimizer.step());
    optimizer.zeroGrad();
    const reason =
      'the earlier optimizer.step(), which was not awaited, failed: step: no parameter has a gradient';
    await expect(loss.backward()).rejects.toEqual(refusal('ERR_NOT_AWAITED', reason));
    expect(model.weight.grad).toBeUndefined();
    await loss.backward();
    await optimizer.step();
  });

  test('makes synchronous functions throw on its model, but not on another', async () => {
    const [model, other] = [madeModel(), madeModel()];
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const [state, optimizerState] = [model.stateDict(), optimizer.stateDict()];
    await lossOf(model, batches[0]).backward();
    const calls = {
      clipGradNorm: () => nn.utils.clipGradNorm(model.parameters(), 1),
      clipGradValue: () => {
        nn.utils.clipGradValue(model.parameters(), 1);
      },
      stateDict: () => model.stateDict(),
      loadStateDict: () => model.loadStateDict(state),
      'SGD.stateDict': () => optimizer.stateDict(),
      'SGD.loadStateDict': () => {
        optimizer.loadStateDict(optimizerState);
      },
    };
    const step = optimizer.step();
    for (const [name, call] of Object.entries(calls)) {
      const message = `${name}: optimizer.step() is still running. Await it first: await optimizer.step().`;
      expect(call).toThrow(refusal('ERR_NOT_AWAITED', message));
    }
    nn.utils.clipGradNorm(other.parameters(), 1);
    other.loadStateDict(state);
    await step;
    for (const call of Object.values(calls)) call();
  });
});

test('operations called inside a backward pass, as by a communication hook, run immediately', async () => {
  const x = new Parameter(Float32Array.of(1, 2), [2]);
  const gradient = new Float32Array(2);
  const read: number[] = [];
  x.gradientSink = gradientSink({
    arrayOf: () => gradient,
    done: async () => {
      read.push(...((await tensor(gradient).mul(3).array()) as Float32Array));
    },
  });
  await x.sum().backward();
  expect(read).toEqual([3, 3]);
});

describe('after optimizer.step()', () => {
  async function stepped() {
    const model = madeModel();
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    const output = noGrad(() => model.forward(tensor(batches[0], shape)));
    const loss = lossOf(model, batches[0]);
    const second = lossOf(model, batches[1]);
    await loss.backward();
    await optimizer.step();
    return { model, optimizer, output, loss, second };
  }

  test('the loss and values computed from it are those of the step', async () => {
    const { loss, model } = await stepped();
    const item = await loss.item();
    expect(await loss.mul(1).item()).toBe(item);
    expect([...(await loss.array())]).toEqual([item]);
    expect(await loss.mul(2).add(loss.detach()).item()).toBe(Math.fround(Math.fround(2 * item) + item));
    expect(await lossOf(model, batches[0]).item()).not.toBe(item);
  });

  test('rejects reading other tensors from before the step, and names the parameter', async () => {
    const { model, output, second } = await stepped();
    // Parameters have names once a module has listed them.
    const message =
      'was computed from parameter weight (float32[2,3]) before optimizer.step() changed it. Read it before';
    await expect(output.array()).rejects.toEqual(refusal('ERR_OUTDATED', message));
    await expect(output.mul(2).sum().item()).rejects.toEqual(refusal('ERR_OUTDATED', message));
    await expect(second.backward()).rejects.toEqual(
      refusal('ERR_OUTDATED', 'backward: the loss was computed from parameter'),
    );
    await expect(model.forward(tensor(batches[0], shape)).array()).resolves.toHaveLength(8);
    await expect(model.weight.array()).resolves.toEqual(model.weight.data);
  });

  test('a known, detached number may be part of the next loss', async () => {
    const { model, loss, optimizer } = await stepped();
    const known = await loss.item();
    optimizer.zeroGrad();
    await lossOf(model, batches[1]).mul(loss.detach()).backward();
    const weighted = model.weight.grad!.slice();
    optimizer.zeroGrad();
    await lossOf(model, batches[1]).mul(known).backward();
    expect([...weighted]).toEqual([...model.weight.grad!]);
    const through = lossOf(model, batches[1]).mul(loss);
    await expect(through.backward()).rejects.toEqual(refusal('ERR_OUTDATED', 'parameter weight'));
  });

  test('reads tensors of parameters that the step did not change, as in a GAN', async () => {
    const [generator, discriminator] = [madeModel(), madeModel()];
    const optimizer = new optim.SGD(discriminator.parameters(), { lr: 0.1 });
    const generated = generator.forward(tensor(batches[0], shape)).flatten().view(-1, 2);
    const judged = (x: Tensor) => F.linear(x, discriminator.weight.transpose(0, 1)).mean();
    await judged(generated.detach()).backward();
    await optimizer.step();
    await judged(generated).backward();
    expect(generator.weight.grad).toBeDefined();
  });
});

test('rejects reading a tensor computed before loadStateDict or a running-statistics update', async () => {
  const model = madeModel();
  const output = model.forward(tensor(batches[0], shape));
  model.loadStateDict(model.stateDict());
  await expect(output.array()).rejects.toEqual(refusal('ERR_OUTDATED', 'before loadStateDict changed it'));

  const norm = new nn.BatchNorm1d(3);
  const evaluated = norm.eval().forward(tensor(batches[0], shape));
  await norm.train().forward(tensor(batches[0], shape)).sum().backward();
  const message = 'a buffer (float32[3]) before a forward call in training mode changed it';
  await expect(evaluated.array()).rejects.toEqual(refusal('ERR_OUTDATED', message));
  await expect(norm.eval().forward(tensor(batches[0], shape)).array()).resolves.toHaveLength(12);
});

describe('a reused array', () => {
  test('each pending read uses the contents at its call', async () => {
    const batch = new Float32Array(2);
    const labels = new BigInt64Array(1);
    const reads = [1, 2, 3].map((number) => {
      batch.fill(number);
      labels.fill(BigInt(number));
      return [tensor(batch).mul(10).array(), tensor(batch).array(), tensor(labels).item()];
    });
    const results = await Promise.all(reads.map((read) => Promise.all(read)));
    expect(results).toEqual(
      [1, 2, 3].map((number) => [
        Float32Array.of(10 * number, 10 * number),
        Float32Array.of(number, number),
        number,
      ]),
    );
  });

  test('may be detached after the call, as by a DataLoader with reuseMemory', async () => {
    const batch = Float32Array.of(1, 2);
    const read = tensor(batch).mul(2).array();
    structuredClone(batch, { transfer: [batch.buffer] });
    expect([...(await read)]).toEqual([2, 4]);
  });
});
