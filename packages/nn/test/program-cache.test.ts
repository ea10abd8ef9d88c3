import { afterEach, beforeEach, describe, expect, test, vi, type MockInstance } from 'vitest';
import { onnxruntimeExecutor } from '../src/executor/onnxruntime.ts';
import { F, nn, optim, tensor } from '../src/index.ts';
import { fill } from './fill.ts';

let compile: MockInstance<typeof onnxruntimeExecutor.compile>;
beforeEach(() => {
  compile = vi.spyOn(onnxruntimeExecutor, 'compile');
});
afterEach(() => {
  compile.mockRestore();
});

describe('a training loop', () => {
  async function step(model: nn.Linear, optimizer: optim.SGD, batch: number, seed: number): Promise<void> {
    const loss = F.linear(tensor(fill([batch, 5], seed), [batch, 5]), model.weight, model.bias).mean();
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
  }

  test('compiles its first step and no other, whatever the learning rate', async () => {
    const model = new nn.Linear(5, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.5 });
    await step(model, optimizer, 4, 1);
    expect(compile).toHaveBeenCalled();
    compile.mockClear();
    for (let seed = 2; seed < 5; seed += 1) {
      optimizer.paramGroups[0].lr /= 2;
      await step(model, optimizer, 4, seed);
    }
    expect(compile).not.toHaveBeenCalled();
  });

  test('compiles one program more for a last batch of another size', async () => {
    const model = new nn.Linear(5, 3);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
    await step(model, optimizer, 6, 1);
    compile.mockClear();
    await step(model, optimizer, 3, 2);
    expect(compile).toHaveBeenCalledTimes(1);
    await step(model, optimizer, 6, 3);
    await step(model, optimizer, 3, 4);
    expect(compile).toHaveBeenCalledTimes(1);
  });
});

test('equal graphs over different arrays are one program, and each reads its own', async () => {
  const [a, b] = [tensor(Float32Array.of(1, 2, 3)), tensor(Float32Array.of(4, 5, 6))];
  expect([...(await a.mul(7).array())]).toEqual([7, 14, 21]);
  expect([...(await b.mul(7).array())]).toEqual([28, 35, 42]);
  expect(compile).toHaveBeenCalledTimes(1);
});

test('numbers that are written alike in JSON are different programs', async () => {
  const x = tensor(Float32Array.of(1, -2));
  const quotients = async (divisor: number) => [...(await x.div(divisor).array())];
  expect(await quotients(0)).toEqual([Infinity, -Infinity]);
  expect(await quotients(-0)).toEqual([-Infinity, Infinity]);
  expect(await quotients(Infinity)).toEqual([0, -0]);
  expect(await quotients(-Infinity)).toEqual([-0, 0]);
  expect(await quotients(NaN)).toEqual([NaN, NaN]);
  expect([...(await x.div(0).add(x.div(-0)).array())]).toEqual([NaN, NaN]);
});
