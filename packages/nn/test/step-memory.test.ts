import { expect, test } from 'vitest';
import { nn, optim, tensor } from '../src/index.ts';
import './one-thread.ts';

const mebibyte = 2 ** 20;

test('a step leaves nothing behind that waits for the garbage collector', async () => {
  const layer = new nn.Linear(1024, 1024); // 4 MiB of parameters, of gradients, of momentum
  const optimizer = new optim.SGD(layer.parameters(), { momentum: 0.5 });
  const inputs = new Float32Array(8 * 1024).fill(0.5);
  const step = async () => {
    const loss = layer.forward(tensor(inputs, [8, 1024])).mean();
    optimizer.zeroGrad();
    await loss.backward();
    await optimizer.step();
  };
  await step();
  const held = [];
  for (let i = 0; i < 6; i += 1) {
    await step();
    held.push(process.memoryUsage().arrayBuffers);
  }
  // 12 MiB are written in each.
  expect(Math.max(...held) - held[0]).toBeLessThan(mebibyte);
});

test('arrays that are given out are kept: those of parameters, gradients and results', async () => {
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
