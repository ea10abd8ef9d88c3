import { expect, test } from 'vitest';
import { nn, optim, tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

const mebibyte = 2 ** 20;

test('a step leaves no garbage for the collector', async () => {
  const layer = new nn.Linear(512, 512); // 1 MiB of parameters, of gradients, of momentum
  const optimizer = new optim.SGD(layer.parameters(), { momentum: 0.5 });
  const inputs = new Float32Array(8 * 512).fill(0.5);
  const step = async () => {
    const loss = layer.forward(tensor(inputs, [8, 512])).mean();
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
  };
  await step();
  const held: number[] = [];
  for (let i = 0; i < 20; i += 1) {
    await step();
    held.push(process.memoryUsage().arrayBuffers);
  }
  // Each writes 3 MiB. The collector may also free garbage of other tests.
  const growths = held.slice(1).map((bytes, i) => Math.max(0, bytes - held[i]));
  expect(growths.reduce((sum, growth) => sum + growth)).toBeLessThan(mebibyte);
});

test('keeps the arrays of parameters, gradients and results for the caller', async () => {
  const layer = new nn.Linear(3, 2);
  const optimizer = new optim.SGD(layer.parameters(), { lr: 0.1 });
  const output = layer.forward(tensor(Float32Array.of(1, 2, 3), [1, 3]));
  const values = await output.array();
  const loss = output.sum();
  await loss.backward();
  await optimizer.step();
  expect(values).toHaveLength(2);
  expect([...layer.weight.grad!]).toEqual([1, 2, 3, 1, 2, 3]);
  expect(layer.weight.data).toHaveLength(6);
  expect(await loss.item()).toBeCloseTo((values[0] as number) + Number(values[1]), 5);
});

test('rejects an array whose memory was transferred, and gives the reason', async () => {
  const values = Float32Array.of(1, 2);
  const before = tensor(values);
  expect([...(await before.mul(2).array())]).toEqual([2, 4]);
  structuredClone(values, { transfer: [values.buffer] });
  const reason =
    /^tensor: expected 2 elements for float32\[2\], got 0\. .* a later batch of a DataLoader with reuseMemory/;
  await expect(before.mul(2).array()).rejects.toThrow(reason);
  expect(() => tensor(values, [2])).toThrow(reason);
});
