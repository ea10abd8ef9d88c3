import { describe, expect, test, vi } from 'vitest';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { F, type NnError, Parameter, Tensor, tensor } from '../../src/index.ts';
import { cast, greater, mul } from '../../src/ops/elementwise.ts';

const vector = (...values: number[]) => new Parameter(Float32Array.from(values), [values.length]);

describe('rejects', () => {
  const refusal = (part: string) =>
    expect.objectContaining({
      code: 'ERR_BACKWARD',
      message: expect.stringContaining(part) as string,
    }) as NnError;

  test('a loss of several numbers, before anything runs', async () => {
    const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
    const x = vector(1, 2, 3);
    await expect(x.mul(2).backward()).rejects.toEqual(refusal('got float32[3]. Reduce it first'));
    expect(compile).not.toHaveBeenCalled();
    expect(x.grad).toBeUndefined();
    compile.mockRestore();
  });

  test('a loss of integers', async () => {
    await expect(tensor(BigInt64Array.of(1n), []).backward()).rejects.toEqual(refusal('got int64[]'));
  });

  test('a loss without a parameter', async () => {
    await expect(tensor(Float32Array.of(1, 2)).sum().backward()).rejects.toEqual(
      refusal('not depend on any Parameter'),
    );
  });

  test('a second time, without adding gradients', async () => {
    const x = vector(1, 2);
    const loss = x.sum();
    await loss.backward();
    await expect(loss.backward()).rejects.toEqual(refusal('a second time'));
    expect([...x.grad!]).toEqual([1, 1]);
  });

  test.each([-1n, 2n, 2n ** 32n, 2n ** 63n - 100n, -(2n ** 32n) - 100n])(
    'label %s of two classes, when the loss is called',
    (label) => {
      const x = new Parameter(Float32Array.of(1, 2, 3, 4), [2, 2]);
      expect(() => F.nllLoss(x, tensor(BigInt64Array.of(0n, label)))).toThrow(
        `expected targets from 0 to 1 or ignoreIndex (-100), got ${label} at index 1`,
      );
    },
  );

  test('a failed run keeps earlier gradients, and the loss can be run again', async () => {
    const x = new Parameter(Float32Array.of(1, 2, 3, 4), [2, 2]);
    await x.sum().backward();
    const labels = BigInt64Array.of(0n, 1n);
    const loss = F.nllLoss(x.mul(3), tensor(labels));
    labels[1] = 7n;
    await expect(loss.backward()).rejects.toMatchObject({ code: 'ERR_EXECUTOR' });
    expect([...x.grad!]).toEqual([1, 1, 1, 1]);
    labels[1] = 1n;
    await loss.backward();
    expect(x.grad![0]).not.toBe(1);
  });
});

describe('gradients', () => {
  test('add up over backward passes until zeroGrad, in one array', async () => {
    const x = vector(1, 2, 3);
    const batches = [tensor(Float32Array.of(10, 20, 30)), tensor(Float32Array.of(0.5, 0.25, 0.125))];
    await x.mul(batches[0]).sum().backward();
    const place = x.grad;
    expect([...place!]).toEqual([10, 20, 30]);
    await x.mul(batches[1]).sum().backward();
    expect([...x.grad!]).toEqual([10.5, 20.25, 30.125]);

    x.zeroGrad();
    expect(x.grad).toBeUndefined();
    await x.mul(batches[1]).sum().backward();
    expect([...x.grad!]).toEqual([0.5, 0.25, 0.125]);
    expect(x.grad).toBe(place);
  });

  test('are undefined for a parameter that the loss does not use', async () => {
    const [used, unused] = [vector(1, 2), vector(3, 4)];
    await used.sum().backward();
    expect([...used.grad!]).toEqual([1, 1]);
    expect(unused.grad).toBeUndefined();
  });

  test('are 0 for a parameter that is only compared', async () => {
    const [x, compared] = [vector(1, 4), vector(3, 3)];
    const mask = cast(greater(x.value, compared.value), 'float32');
    await new Tensor(mul(x.value, mask)).sum().backward();
    expect([...x.grad!]).toEqual([0, 1]);
    expect([...compared.grad!]).toEqual([0, 0]);
  });

  test('sum over all uses of a parameter', async () => {
    const x = vector(1, 2, 3);
    await x.mul(x).add(x).sum().backward();
    expect([...x.grad!]).toEqual([3, 5, 7]);
  });

  test('of a parameter that is the loss itself: 1', async () => {
    const x = new Parameter(Float32Array.of(5), []);
    await x.backward();
    expect([...x.grad!]).toEqual([1]);
    expect(await x.item()).toBe(5);
  });

  test('of a graph 3,000 operations deep', async () => {
    const x = vector(1, 2);
    let sum: Tensor = x;
    for (let depth = 0; depth < 3000; depth += 1) sum = sum.add(x);
    const loss = sum.sum();
    await loss.backward();
    expect([...x.grad!]).toEqual([3001, 3001]);
    expect(await loss.item()).toBe(9003);
  });
});

test('a graph reads the contents of its arrays when it runs', async () => {
  const data = Float32Array.of(1, 2);
  const doubled = tensor(data).mul(2);
  data.set([10, 20]);
  expect([...(await doubled.array())]).toEqual([20, 40]);
});

test('item() after backward returns the loss of that pass, even after an update', async () => {
  const x = vector(1, 2);
  const loss = x.sum();
  await loss.backward();
  x.data.set([100, 200]);
  expect(await loss.item()).toBe(3);
});
