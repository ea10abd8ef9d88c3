import { afterEach, describe, expect, test, vi } from 'vitest';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { ArgumentError, nn, optim, Parameter, tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

// Behaviour shared by all optimizers; optimizers-golden.test.ts compares their numbers with PyTorch.

const vector = (...values: number[]) => new Parameter(Float32Array.from(values), [values.length]);
const backward = (parameter: Parameter, ...gradient: number[]) =>
  parameter
    .mul(tensor(Float32Array.from(gradient)))
    .sum()
    .backward();

afterEach(() => {
  vi.restoreAllMocks();
});

describe('groups', () => {
  test('inherit missing settings from the optimizer', () => {
    const [x, y] = [vector(1), vector(2)];
    const optimizer = new optim.Adam(
      [
        { params: [x], lr: 0.5 },
        { params: y, betas: [0.1, 0.2] },
      ],
      { eps: 1 },
    );
    const shared = { eps: 1, weightDecay: 0, amsgrad: false };
    expect(optimizer.paramGroups).toEqual([
      { ...shared, params: [x], lr: 0.5, betas: [0.9, 0.999] },
      { ...shared, params: [y], lr: 1e-3, betas: [0.1, 0.2] },
    ]);
  });

  test('do not share setting objects', async () => {
    const [x, y] = [vector(0), vector(0)];
    const optimizer = new optim.SGD([{ params: [x] }, { params: [y] }], { lr: 1 });
    optimizer.paramGroups[0].lr = 0.25;
    await backward(x, 1);
    await backward(y, 1);
    await optimizer.step();
    expect([x.data[0], y.data[0]]).toEqual([-0.25, -1]);
  });

  test('can be added later', async () => {
    const [x, y] = [vector(0), vector(0)];
    const optimizer = new optim.SGD([x], { lr: 1, momentum: 0.5 });
    await backward(x, 1);
    await optimizer.step();
    optimizer.addParamGroup({ params: [y], lr: 0.5 });
    await backward(y, 1);
    await optimizer.step();
    expect([x.data[0], y.data[0]]).toEqual([-2.5, -0.5]);
    optimizer.zeroGrad();
    expect([x.grad, y.grad]).toEqual([undefined, undefined]);
  });

  test('may be empty', async () => {
    const x = vector(0);
    const optimizer = new optim.SGD([{ params: [] }, { params: [x] }], { lr: 1 });
    await backward(x, 3);
    await optimizer.step();
    expect(x.data[0]).toBe(-3);
  });
});

describe('settings that change between steps', () => {
  test.each<[string, (group: optim.ParamGroup<optim.AdamSettings>) => void]>([
    ['lr', (group) => (group.lr /= 2)],
    ['betas', (group) => (group.betas = [0.8, 0.9])],
    ['eps', (group) => (group.eps = 1e-3)],
    ['weightDecay', (group) => (group.weightDecay = 0.2)],
  ])('%s: nothing is recompiled, and the next step uses it', async (_, change) => {
    const results: number[][] = [];
    for (const changeOrNot of [() => undefined, change]) {
      const x = vector(1, 2, 3);
      const optimizer = new optim.Adam([x], { lr: 0.1, weightDecay: 0.1 });
      await backward(x, 1, -1, 0.5);
      await optimizer.step();
      changeOrNot(optimizer.paramGroups[0]);
      const compile = vi.spyOn(onnxruntimeExecutor, 'compile');
      await optimizer.step();
      expect(compile).not.toHaveBeenCalled();
      compile.mockRestore();
      results.push([...x.data]);
    }
    expect(results[0]).not.toEqual(results[1]);
  });

  test('raising momentum from 0 starts a velocity', async () => {
    const x = vector(0);
    const optimizer = new optim.SGD([x], { lr: 1 });
    await backward(x, 1);
    await optimizer.step();
    const [group] = optimizer.paramGroups;
    Object.assign(group, { momentum: 0.5, dampening: 0.25 });
    await optimizer.step();
    expect(x.data[0]).toBe(-2);
    await optimizer.step();
    expect(x.data[0]).toBe(-2 - (0.5 + 0.75));
  });

  test('are checked at the step, which changes nothing if they are invalid', async () => {
    const [x, y] = [vector(1), vector(1)];
    const optimizer = new optim.SGD([{ params: [x] }, { params: [y] }], { lr: 1 });
    await backward(x, 1);
    optimizer.paramGroups[1].lr = NaN;
    await expect(optimizer.step()).rejects.toThrow('SGD: lr must be at least 0, got NaN');
    expect(x.data[0]).toBe(1);
  });
});

test('bias correction counts only the steps at which a parameter had a gradient', async () => {
  const [x, y, alone] = [vector(0), vector(0), vector(0)];
  const both = new optim.Adam([x, y], { lr: 1 });
  const single = new optim.Adam([alone], { lr: 1 });
  await backward(x, 1);
  await both.step();
  await both.step();
  await backward(y, 1);
  await backward(alone, 1);
  await both.step();
  await single.step();
  expect(y.data[0]).toBe(alone.data[0]);
  expect(x.data[0]).toBeCloseTo(-3, 5);
});

test('updates every element of a large array in place', async () => {
  const period = 97;
  const repeats = 700;
  const tiled = (small: Float32Array) =>
    Float32Array.from({ length: period * repeats }, (_, i) => small[i % period]);
  const small = new Parameter(fill([period], 1), [period]);
  const large = new Parameter(tiled(small.data), [period * repeats]);
  for (const parameter of [small, large]) {
    const optimizer = new optim.AdamW([parameter], {
      lr: 0.1,
      amsgrad: true,
      weightDecay: 0.1,
      betas: [0.5, 0.6],
    });
    for (let step = 0; step < 4; step += 1) {
      const gradient = fill([period], step);
      optimizer.zeroGrad();
      await backward(parameter, ...(parameter === small ? gradient : tiled(gradient)));
      await optimizer.step();
    }
  }
  expect(Buffer.from(large.data.buffer).equals(Buffer.from(tiled(small.data).buffer))).toBe(true);
});

describe('rejects', () => {
  const model = () =>
    new (class extends nn.Module {
      fc = new nn.Linear(2, 3);
    })();

  test('a parameter in two groups, by its path', () => {
    const { fc } = model();
    expect(() => new optim.SGD([{ params: [fc.weight] }, { params: [fc.bias!, fc.weight] }])).toThrow(
      'SGD: a parameter (float32[3,2]) is in two parameter groups, 0 and 1',
    );
    const net = model();
    const [, bias] = net.parameters();
    expect(() => new optim.Adam([{ params: net.parameters() }, { params: [bias] }])).toThrow(
      'Adam: parameter fc.bias (float32[3]) is in two parameter groups, 0 and 1',
    );
  });

  test('a parameter of another optimizer, until release()', async () => {
    const net = model();
    const first = new optim.SGD(net.parameters(), { lr: 0.1 });
    const second = () => new optim.Adam([net.fc.bias!]);
    expect(second).toThrow(ArgumentError);
    expect(second).toThrow('Adam: parameter fc.bias (float32[3]) belongs to another optimizer (SGD)');
    first.release();
    second();
    await expect(first.step()).rejects.toThrow('released by release()');
    expect(() => {
      first.addParamGroup({ params: [vector(1)] });
    }).toThrow('released by release()');
    first.release();
    expect(second, 'a second release does not affect the new optimizer').toThrow('(Adam)');
  });

  test('a rejected optimizer does not claim its parameters', () => {
    const [x, y] = [vector(1), vector(2)];
    expect(() => new optim.SGD([{ params: [x] }, { params: [y], lr: -1 }])).toThrow(
      'lr must be at least 0, got -1',
    );
    new optim.SGD([x, y]);
  });

  test('rejects an added group with a parameter of an earlier group and adds nothing', () => {
    const [x, y] = [vector(1), vector(2)];
    const optimizer = new optim.SGD([x]);
    expect(() => {
      optimizer.addParamGroup({ params: [y, x] });
    }).toThrow('is in two parameter groups, 0 and 1');
    expect(optimizer.paramGroups).toHaveLength(1);
    new optim.SGD([y]);
  });

  const untyped = (parameters: unknown, options?: unknown) => () =>
    new optim.SGD(parameters as Parameter[], options as optim.SGDOptions);
  test.each<[string, () => unknown]>([
    [
      'SGD: learningRate is not an option. Its options are lr, momentum',
      untyped([vector(1)], { learningRate: 1 }),
    ],
    ['SGD: betas is not an option.', untyped([{ params: [vector(1)], betas: [0, 0] }])],
    ['got both (element 1 is not a Parameter)', untyped([vector(1), { params: [vector(2)] }])],
    ['expected Parameters in params, got 7 at index 1', untyped([{ params: [vector(1), 7] }])],
    ['got undefined as params', untyped([{ lr: 1 }])],
    ["lr must be a number, got '0.1'", untyped([vector(1)], { lr: '0.1' })],
    ['expected at least one parameter', untyped([])],
    ['expected at least one parameter, got none', untyped([{ params: [] }])],
    ['betas[1] must be at least 0 and below 1, got 1', () => new optim.Adam([vector(1)], { betas: [0, 1] })],
    ['AdamW: eps must be at least 0, got -1', () => new optim.AdamW([vector(1)], { eps: -1 })],
    ['RMSprop: alpha must be at least 0', () => new optim.RMSprop([vector(1)], { alpha: -0.1 })],
    ['Adadelta: rho must lie between 0 and 1, got 1.5', () => new optim.Adadelta([vector(1)], { rho: 1.5 })],
  ])('%s', (message, create) => {
    expect(create).toThrow(ArgumentError);
    expect(create).toThrow(message);
  });
});
