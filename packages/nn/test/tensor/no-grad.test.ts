import { describe, expect, test } from 'vitest';
import { rewrite } from '../../src/compiler/rewrite.ts';
import { removeIdentity } from '../../src/compiler/rewrites/remove-identity.ts';
import { reluAfterMaxPool } from '../../src/compiler/rewrites/relu-after-max-pool.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { F, noGrad, Parameter, tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { MnistCnn } from '../support/mnist-cnn.ts';
import '../support/one-thread.ts';

const vector = (...values: number[]) => new Parameter(Float32Array.from(values), [values.length]);
const cutOff = {
  code: 'ERR_BACKWARD',
  message: expect.stringContaining('only through noGrad or detach()') as string,
};

describe('detach', () => {
  test('keeps the value and blocks the gradient', async () => {
    const x = vector(2, -3);
    const product = x.mul(x.detach());
    expect([...(await product.array())]).toEqual([4, 9]);
    await product.sum().backward();
    expect([...x.grad!]).toEqual([2, -3]);
  });

  test('leaves a parameter used only through it without a gradient', async () => {
    const [x, y] = [vector(2, 3), vector(4, 5)];
    await x.mul(y.mul(2).detach()).sum().backward();
    expect([...x.grad!]).toEqual([8, 10]);
    expect(y.grad).toBeUndefined();
  });

  test('a parameter that is also used elsewhere receives that gradient', async () => {
    const x = vector(1, 2);
    await x.exp().detach().add(x.mul(3)).sum().backward();
    expect([...x.grad!]).toEqual([3, 3]);
  });
});

describe('noGrad', () => {
  test('returns values computed inside, without gradients', async () => {
    const [x, y] = [vector(2, 3), vector(4, 5)];
    const target = noGrad(() => x.mul(10).add(y));
    expect([...(await target.array())]).toEqual([24, 35]);
    await y.mul(target).sum().backward();
    expect([...y.grad!]).toEqual([24, 35]);
    expect(x.grad).toBeUndefined();
  });

  test('backward rejects a loss from inside', async () => {
    const x = vector(2, 3);
    const loss = noGrad(() => x.mul(2).sum());
    await expect(loss.backward()).rejects.toMatchObject(cutOff);
    await expect(loss.mul(2).backward()).rejects.toMatchObject(cutOff);
    expect(await loss.item()).toBe(10);
    expect(x.grad).toBeUndefined();
  });

  test('even one that is the reshaped parameter', async () => {
    const x = new Parameter(Float32Array.of(2), [1]);
    await expect(noGrad(() => x.view(1)).backward()).rejects.toMatchObject(cutOff);
  });

  test('holds after an await inside, but not for concurrent code', async () => {
    const x = vector(2, 3);
    let goOn = (): void => undefined;
    const paused = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const inside = noGrad(async () => {
      await paused;
      return { loss: x.mul(2).sum() };
    });
    const outside = x.mul(3).sum();
    goOn();
    await expect((await inside).loss.backward()).rejects.toMatchObject(cutOff);
    await outside.backward();
    expect([...x.grad!]).toEqual([3, 3]);
  });

  test('holds in a function that is begun inside and not awaited', async () => {
    const x = vector(1, 2);
    let evaluated: Promise<boolean> | undefined;
    const evaluate = async () => {
      await Promise.resolve();
      return x.mul(2).requiresGrad;
    };
    noGrad(() => {
      evaluated = evaluate();
    });
    noGrad(() => x.mul(3));
    expect(await evaluated).toBe(false);
    expect(x.mul(2).requiresGrad).toBe(true);
  });

  test('ends with an exception', async () => {
    const x = vector(1);
    expect(() => noGrad(() => x.view(2))).toThrow();
    await x.mul(4).sum().backward();
    expect([...x.grad!]).toEqual([4]);
  });

  test('a parameter created inside is trained', async () => {
    const x = noGrad(() => vector(1, 2));
    await x.mul(5).sum().backward();
    expect([...x.grad!]).toEqual([5, 5]);
  });

  test('keeps a model’s output bit-identical, including optimized parts', async () => {
    const model = new MnistCnn();
    const images = tensor(fill([3, 1, 28, 28], 1), [3, 1, 28, 28]);
    const [inside, outside] = [noGrad(() => model.forward(images)), model.forward(images)];
    expect(await inside.array()).toEqual(await outside.array());

    const pooled = noGrad(() => F.maxPool2d(F.relu(images), 2));
    const operators = ({ value }: typeof pooled, ...rules: Parameters<typeof rewrite>[1]) =>
      topologicalOrder(rewrite([value], rules)).map(({ op }) => op);
    expect(operators(pooled)).toEqual(['Input', 'Relu', 'Identity', 'MaxPool', 'Identity']);
    expect(operators(pooled, removeIdentity, reluAfterMaxPool)).toEqual(['Input', 'MaxPool', 'Relu']);
  });
});
