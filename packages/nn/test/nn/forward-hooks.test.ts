import { expect, test } from 'vitest';
import { manualSeed, nn, tensor, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

const x = tensor(fill([2, 3], 1), [2, 3]);
const read = async (result: Tensor) => [...(await result.array())].map(Number);

test('hooks run before and after every forward, in registration order, and may replace values', async () => {
  const layer = new nn.Linear(3, 2);
  const model = new nn.Sequential(layer, new nn.ReLU());
  const plain = await read(model.forward(x));
  const calls: string[] = [];
  const handles = [
    layer.registerForwardHook((module, [input], output) => {
      calls.push('after');
      expect([module, input.shape, output.shape]).toEqual([layer, [2, 3], [2, 2]]);
    }),
    layer.registerForwardHook((_, __, output) => {
      calls.push('after, changes');
      return output.mul(2);
    }),
    layer.registerForwardPreHook(() => {
      calls.push('before');
    }),
    layer.registerForwardPreHook((_, [input]) => {
      calls.push('before, changes');
      return input.mul(3);
    }),
  ];
  const changed = await read(model.forward(x));
  expect(calls).toEqual(['before', 'before, changes', 'after', 'after, changes']);
  const expected = await read(
    layer.weight.matmul(x.transpose(0, 1)).transpose(0, 1).mul(6).add(layer.bias!.mul(2)).relu(),
  );
  for (const [i, number] of expected.entries()) expect(changed[i]).toBeCloseTo(number, 5);
  for (const handle of [...handles, ...handles]) handle.remove();
  expect(await read(model.forward(x))).toEqual(plain);
  expect(Object.getOwnPropertyNames(layer)).not.toContain('forward');
});

test('hooks change neither a module’s submodules nor a forward that is a property', () => {
  class Model extends nn.Module {
    readonly layer = new nn.Linear(3, 2);
    forward = (input: Tensor): Tensor => this.layer.forward(input);
  }
  const model = new Model();
  const { forward } = model;
  const keys = [...model.stateDict().keys()];
  const handle = model.registerForwardPreHook((_, [input]) => [input.mul(0)]);
  expect([...model.stateDict().keys()]).toEqual(keys);
  expect(model.forward).not.toBe(forward);
  handle.remove();
  expect(model.forward).toBe(forward);
  expect(Object.keys(model)).toContain('forward');
});

test('rejects hooks that are not functions, and modules without forward', () => {
  class Parts extends nn.Module {}
  expect(() => new nn.Linear(1, 1).registerForwardHook(1 as never)).toThrow(
    'registerForwardHook: expected a function, got 1.',
  );
  expect(() => new Parts().registerForwardPreHook(() => 1)).toThrow('expected a module with forward');
});

test('apply visits a module’s submodules before the module', () => {
  manualSeed(1);
  const model = new nn.Sequential(new nn.Linear(3, 2), new nn.Sequential(new nn.Linear(2, 2), new nn.ReLU()));
  const visited: string[] = [];
  const result = model.apply((module) => {
    visited.push(module.constructor.name);
    if (module instanceof nn.Linear) nn.init.ones(module.weight);
  });
  expect(result).toBe(model);
  expect(visited).toEqual(['Linear', 'Linear', 'ReLU', 'Sequential', 'Sequential']);
  expect([...model.stateDict().get('1.0.weight')!.data]).toEqual([1, 1, 1, 1]);
});
