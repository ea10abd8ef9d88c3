import { describe, expect, test } from 'vitest';
import * as api from '../../src/torch-names/entry.ts';
import * as functional from '../../src/functional/index.ts';
import { operators } from '../../src/ops/index.ts';
import '../support/one-thread.ts';

const { F, NnError, Tensor, nn, tensor } = api;

const sizeOf = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1);
const floats = (...shape: number[]) => tensor(new Float32Array(sizeOf(shape)), shape);
const integers = (...shape: number[]) => tensor(new BigInt64Array(sizeOf(shape)), shape);
const booleans = (...shape: number[]) => integers(...shape).to('bool');

const inputs = [
  floats(2, 3),
  floats(),
  floats(0, 3),
  floats(2, 3, 4, 5),
  floats(7, 5),
  integers(2, 3),
  integers(2, 3, 4, 4),
  booleans(2, 3),
];

/** Additional arguments, most of which no function accepts. */
const others: readonly (readonly unknown[])[] = [
  [],
  [9],
  [-9],
  [0, 9],
  [[9]],
  [[0, 0]],
  [floats(7, 5)],
  [floats(4)],
  [integers(5)],
  [booleans(3)],
  [integers(2), 9],
  [9, floats(3)],
  [0, integers(9), floats(3)],
  [floats(2, 3), floats(4)],
  [[4, 4]],
  [floats(4, 2, 3, 3)],
  [integers(4, 2, 3, 3)],
];

/** Error messages of a function that do not begin with its name. Errors of other libraries are ignored. */
function misnamed(name: string, run: (input: unknown, ...rest: readonly unknown[]) => unknown): string[] {
  const messages = new Set<string>();
  for (const input of inputs) {
    for (const rest of others) {
      try {
        run(input, ...rest);
      } catch (error) {
        if (error instanceof NnError) messages.add(error.message);
      }
    }
  }
  seen += messages.size;
  return [...messages].filter(
    (message) => !new RegExp(`^${name}(\\.forward)?: `).test(message) && !isOfArguments(message),
  );
}

let seen = 0;

/** The error of a tensor that is used as a number. */
const isOfArguments = (message: string) => message.startsWith('Expected a number, got a Tensor');

function methodsOf(prototype: object): string[] {
  if (prototype === Object.prototype) return [];
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
    .map(([name]) => name);
  return [...own, ...methodsOf(Object.getPrototypeOf(prototype) as object)];
}

type Callable = (...inputs: readonly unknown[]) => unknown;

describe('errors begin with the name of the called function:', () => {
  const running = ['backward', 'array', 'arraySync', 'item', 'itemSync'];

  test('every method of a tensor', () => {
    seen = 0;
    const methods = methodsOf(Tensor.prototype).filter((name) => !running.includes(name));
    expect(methods.length).toBeGreaterThan(120);
    for (const name of methods) {
      const call = (x: unknown, ...rest: readonly unknown[]) =>
        (x as Record<string, Callable>)[name](...rest);
      expect(misnamed(name, call)).toEqual([]);
    }
    expect(seen).toBeGreaterThan(1000);
  });

  test('every function of F', () => {
    seen = 0;
    const functions = Object.entries(F as unknown as Record<string, Callable>);
    expect(functions.length).toBeGreaterThan(90);
    for (const [name, call] of functions) expect(misnamed(name, call)).toEqual([]);
    expect(seen).toBeGreaterThan(1000);
  });

  test('the functions of several tensors', () => {
    for (const name of ['cat', 'stack', 'where', 'cdist', 'meshgrid'] as const) {
      const call = api[name] as Callable;
      expect(misnamed(name, call)).toEqual([]);
      expect(misnamed(name, (x, other, ...rest) => call([x, other], ...rest))).toEqual([]);
    }
  });

  test('every module', () => {
    seen = 0;
    const sizes: readonly (readonly unknown[])[] = [
      [],
      [3],
      [4, 2],
      [3, 2, 3],
      [0.5],
      [2, 4],
      [2, [3, 1]],
      [[3]],
    ];
    let modules = 0;
    for (const [name, Module] of Object.entries(nn as unknown as Record<string, unknown>)) {
      if (typeof Module !== 'function' || !(Module.prototype instanceof nn.Module)) continue;
      if (Module === nn.Sequential) continue;
      const made = sizes.flatMap((size) => {
        try {
          return [Reflect.construct(Module, size) as { forward: Callable }];
        } catch {
          return [];
        }
      });
      if (made.length === 0 || !('forward' in made[0])) continue;
      modules += 1;
      for (const module of made) {
        expect(misnamed(name, (...given) => module.forward(...given))).toEqual([]);
      }
    }
    expect(modules).toBeGreaterThan(100);
    expect(seen).toBeGreaterThan(1000);
  });
});

test.each<[what: string, run: () => unknown, message: string]>([
  [
    'linear',
    () => F.linear(floats(2, 3), floats(5, 4)),
    'linear: float32[2,3] times float32[5,4] transposed',
  ],
  ['sum', () => integers(2).sum([7]), 'sum: expected axes from -1 to 0 for int64[2], got 7.'],
  ['norm', () => integers(2).norm(), 'norm: expected float32, got int64[2].'],
  ['mul', () => floats(2).mul(floats(3)), 'mul: float32[2] and float32[3] do not broadcast'],
  ['silu', () => F.silu(integers(2)), 'silu: expected float32, got int64[2].'],
  ['nn.SiLU', () => new nn.SiLU().forward(integers(2)), 'SiLU: expected float32, got int64[2].'],
  [
    'cat',
    () => api.cat([floats(2), floats(2, 3)]),
    'cat: expected equal dtypes and shapes except along axis 0',
  ],
])('%s', (_, run, message) => {
  expect(run).toThrow(message);
});

test('errors in user functions name the function that the user called', () => {
  const distance = (a: api.Tensor, b: api.Tensor) => a.matmul(b);
  const [a, b] = [floats(2, 3), floats(2, 3)];
  expect(() => F.tripletMarginWithDistanceLoss(a, b, b, { distanceFunction: distance })).toThrow(/^matmul: /);
  class Net extends nn.Module {
    forward(x: api.Tensor): api.Tensor {
      return x.matmul(x);
    }
  }
  expect(() => new nn.Sequential(new Net()).forward(a)).toThrow(/^matmul: /);
});

test('an error clears the name of the called function', () => {
  expect(() => integers(2).norm()).toThrow(/^norm: /);
  expect(() => new nn.Linear(2, 1).loadStateDict([] as never)).toThrow(/^loadStateDict: /);
});

test('without a called function, errors name a torch function, not a graph operator', () => {
  const operator = new RegExp(`^(${Object.keys(operators).join('|')}): `);
  expect('ReduceSum: expected float32').toMatch(operator);
  seen = 0;
  for (const [name, call] of Object.entries(functional as unknown as Record<string, Callable>)) {
    expect(misnamed(name, call).filter((message) => operator.test(message))).toEqual([]);
  }
  expect(seen).toBeGreaterThan(1000);
});
