import { describe, expect, test } from 'vitest';
import { ArgumentError, optim, Parameter, tensor } from '../../src/index.ts';

// The numbers of every option are checked against PyTorch in golden.test.ts.

const vector = (...values: number[]) => new Parameter(Float32Array.from(values), [values.length]);
const backward = (parameter: Parameter, ...gradient: number[]) =>
  parameter
    .mul(tensor(Float32Array.from(gradient)))
    .sum()
    .backward();

describe('step', () => {
  test('changes parameters in place and keeps gradients', async () => {
    const x = vector(1, 2, 3);
    const { data } = x;
    const optimizer = new optim.SGD([x], { lr: 0.5 });
    await backward(x, 2, 4, -8);
    await optimizer.step();
    expect(x.data).toBe(data);
    expect([...data]).toEqual([0, 0, 7]);
    expect([...x.grad!]).toEqual([2, 4, -8]);
    expect([...(await x.mul(1).array())]).toEqual([0, 0, 7]);
  });

  test('without any gradient is rejected, and changes nothing', async () => {
    const x = vector(1, 2);
    await expect(new optim.SGD([x]).step()).rejects.toMatchObject({ code: 'ERR_BACKWARD' });
    expect([...x.data]).toEqual([1, 2]);
  });

  test('keeps parameters without a gradient, and their velocities, unchanged', async () => {
    const [x, y] = [vector(1), vector(1)];
    const optimizer = new optim.SGD([x, y], { lr: 1, momentum: 0.5 });
    await backward(x, 1);
    await backward(y, 1);
    await optimizer.step();
    optimizer.zeroGrad();
    expect(x.grad).toBeUndefined();
    await backward(x, 0);
    await optimizer.step();
    expect([x.data[0], y.data[0]]).toEqual([-0.5, 0]);

    optimizer.zeroGrad();
    await backward(y, 0);
    await optimizer.step();
    expect([x.data[0], y.data[0]]).toEqual([-0.5, -0.5]);
  });

  test('updates a parameter that was passed twice only once', async () => {
    const x = vector(5);
    const optimizer = new optim.SGD([x, x], { lr: 1 });
    await backward(x, 1);
    await optimizer.step();
    expect(x.data[0]).toBe(4);
  });

  test('uses the current learning rate', async () => {
    const x = vector(0);
    const optimizer = new optim.SGD([x], { lr: 1 });
    await backward(x, 1);
    await optimizer.step();
    optimizer.paramGroups[0].lr = 0.25;
    await optimizer.step();
    expect(x.data[0]).toBe(-1.25);
  });
});

describe('rejects', () => {
  test.each<[string, optim.SGDOptions]>([
    ['lr must be at least 0, got -1', { lr: -1 }],
    ['lr must be at least 0, got NaN', { lr: NaN }],
    ['momentum must be at least 0, got -0.1', { momentum: -0.1 }],
    ['weightDecay must be at least 0, got -2', { weightDecay: -2 }],
    ['nesterov requires a momentum', { nesterov: true }],
    [
      'nesterov requires a momentum above 0 and a dampening of 0',
      { nesterov: true, momentum: 1, dampening: 0.5 },
    ],
    ['dampening must be a number, got NaN', { dampening: NaN }],
  ])('%s', (message, options) => {
    const create = () => new optim.SGD([vector(1)], options);
    expect(create).toThrow(ArgumentError);
    expect(create).toThrow(message);
  });

  test('no parameters', () => {
    expect(() => new optim.SGD([])).toThrow('expected at least one parameter');
  });
});
