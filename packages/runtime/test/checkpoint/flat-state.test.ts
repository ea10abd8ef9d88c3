import { InvalidArgumentError } from '@ringrun/core';
import { expect, test } from 'vitest';
import { flatten, unflatten } from '../../src/checkpoint/flat-state.ts';
import type { Tree } from '../../src/checkpoint/flat-state.ts';

const tensor = (...values: number[]) => ({ shape: [values.length, 1], data: Float32Array.from(values) });

function there(state: unknown) {
  const { tree, tensors } = flatten(state, 'state');
  return { json: JSON.stringify(tree), tensors };
}

function andBack(state: unknown): unknown {
  const { json, tensors } = there(state);
  return unflatten(JSON.parse(json) as Tree, (key) => tensors.get(key)!);
}

test.each<[what: string, state: unknown]>([
  ['plain values', { a: [1, 2.5, 'x', true, null], b: { c: -1e-300 } }],
  ['numbers that JSON has no form for', [NaN, Infinity, -Infinity, -0, 0.1 + 0.2]],
  ['undefined and BigInts', { spare: undefined, count: 2n ** 70n }],
  [
    'Maps, Sets and Dates',
    new Map<unknown, unknown>([
      [1, new Set(['a'])],
      ['b', new Date(5)],
    ]),
  ],
  [
    'typed arrays and tensors',
    { words: Int32Array.of(1, -2), weight: tensor(1, 2), other: Float64Array.of(3) },
  ],
  [
    'tensors by key',
    new Map([
      ['conv1.weight', tensor(1)],
      ['conv1.bias', tensor(2)],
    ]),
  ],
  [
    'an optimizer’s state',
    { state: { 0: { step: 3, expAvg: tensor(1) } }, paramGroups: [{ betas: [0.9, 0.999], params: [0] }] },
  ],
  ['a key __proto__ and half of a surrogate pair', JSON.parse('{"__proto__":{"\\ud800":"\\udc00"}}')],
  ["an object that looks like ringrun's own marks", { $: 'tensor', key: 'x' }],
  ["an object with a tensor's fields that is not a tensor", { shape: [2], data: Float32Array.of(1) }],
  ['one array in two places', (() => [[1], [1]].map((_, __, all) => all[0]))()],
])('%s', (_, state) => {
  expect(andBack(state)).toStrictEqual(state);
});

test('stores tensors under their paths, with unique keys', () => {
  const state = { 'a.b': tensor(1), a: { b: tensor(2) } };
  const { tensors } = there(state);
  expect([...tensors.keys()]).toEqual(['a.b', 'a.b_']);
  expect(andBack(state)).toEqual(state);
  expect([...there(new Map([['conv1.weight', tensor(1)]])).tensors.keys()]).toEqual(['conv1.weight']);
});

class Own {
  field = 1;
}
const cycle: { self?: unknown } = {};
cycle.self = cycle;

test.each<[what: string, state: unknown, message: string]>([
  ['a function', { hooks: [1, () => 1] }, 'state.hooks.1 is a function'],
  ['a symbol', Symbol('x'), 'state is a symbol'],
  ['an instance', new Map([['of', new Own()]]), 'state.of is an object of class Own'],
  ['a hole', { list: Object.assign([1], { 2: 3 }) }, 'state.list.1 is a hole in an array'],
  ['a cycle', cycle, 'state.self is an object that contains itself'],
])('rejects %s and names its path', (_, state, message) => {
  expect(() => there(state)).toThrow(InvalidArgumentError);
  expect(() => there(state)).toThrow(message);
});
