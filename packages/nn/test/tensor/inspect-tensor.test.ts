import { inspect } from 'node:util';
import type { Arrival } from 'ringrun';
import { expect, test } from 'vitest';
import { BufferTensor, nn, optim, Parameter, tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

test('console.log of a tensor prints its type and first elements', () => {
  expect(inspect(tensor(Float32Array.of(0.1, -0, NaN, 1e-9), [2, 2]))).toBe(
    'Tensor float32[2,2] [0.1, -0, NaN, 1e-9]',
  );
  const labels = tensor(BigInt64Array.from({ length: 64 }, (_, i) => BigInt(i)));
  expect(inspect({ labels })).toContain('labels: Tensor int64[64] [0, 1, 2, 3, 4, 5, … 58 more]');
  expect(inspect(tensor(new Float32Array(0), [0, 3]))).toBe('Tensor float32[0,3] []');
});

test('console.log prints the path of a parameter of a module', () => {
  const model = new nn.Linear(2, 1);
  model.weight.data.set([1, 2]);
  expect(inspect(model.weight)).toBe('Parameter float32[1,2] [1, 2]');
  expect([...model.parameters()]).toHaveLength(2);
  expect(inspect(model.weight)).toBe('Parameter weight float32[1,2] [1, 2]');
});

test('console.log of a computed tensor prints cached elements and computes nothing', async () => {
  const weight = new Parameter(Float32Array.of(1, 2), [2]);
  const hidden = weight.mul(2);
  const loss = hidden.sum();
  expect(inspect(loss)).toBe('Tensor float32[] (not computed yet: await x.array())');
  await loss.backward();
  expect(inspect(loss)).toBe('Tensor float32[] [6]');
  expect(inspect(hidden)).toBe('Tensor float32[2] (not computed yet: await x.array())');
  await new optim.SGD([weight], { lr: 1 }).step();
  expect(inspect(loss)).toBe('Tensor float32[] [6]');
  expect(inspect(loss.mul(2))).toBe('Tensor float32[] (not computed yet: await x.array())');
  expect(inspect(hidden)).toBe(
    'Tensor float32[2] (outdated: its parameters have changed since; compute it again)',
  );
});

test('console.log of a buffer does not wait for its broadcast', () => {
  const buffer = new BufferTensor(Float32Array.of(1, 2));
  expect(inspect(buffer)).toBe('BufferTensor float32[2] [1, 2]');
  const never = () => {
    throw new Error('waited');
  };
  buffer.expect({ hasArrived: false, wait: never, waitSync: never } satisfies Arrival);
  expect(inspect(buffer)).toBe('BufferTensor float32[2] (its elements are being received from another rank)');
});

test('console.log of a tensor reports a detached array', () => {
  const array = Float32Array.of(1, 2);
  const image = tensor(array);
  structuredClone(null, { transfer: [array.buffer] });
  expect(inspect(image)).toBe('Tensor float32[2] (its array was detached)');
});
