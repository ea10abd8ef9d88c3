import { describe, expect, test } from 'vitest';

import { BFloat16Bits, Float16Bits, InvalidArgumentError } from '@ringrun/core';

import { packObject, unpackObject } from '../src/packing.ts';

/** A received message is a view of larger memory, at any offset. */
function transported(object: unknown): unknown {
  const packed = packObject(object, 'object');
  const memory = new Uint8Array(packed.length + 3);
  memory.set(packed, 3);
  return unpackObject(memory.subarray(3));
}

class Point {
  x = 1;
  y = 2;
}

describe('objects are received unchanged', () => {
  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['numbers', [0, -1, 0.1, 1e300, 2 ** 53, -(2 ** 53), NaN, Infinity, -Infinity]],
    ['BigInts', [5n, -(2n ** 63n), 2n ** 64n, -(2n ** 200n), 2n ** 5000n]],
    ['text', ['', 'é😀', 'x'.repeat(70_000)]],
    ['fields that are undefined', { a: undefined, b: [undefined, null] }],
    ['keys that are numbers', { 1: 'a', 2: 'b' }],
    [
      'Map and Set',
      new Map<unknown, unknown>([
        [1, new Set(['a', { b: 1 }])],
        [{ k: 1 }, undefined],
      ]),
    ],
    ['dates', [new Date(0), new Date(1_234_567_890_123), new Date(-1500), new Date(NaN)]],
    ['regular expressions', /a+/gi],
    ['bytes', [Uint8Array.of(1, 2), new ArrayBuffer(3), new DataView(new ArrayBuffer(2))]],
    [
      'typed arrays',
      [
        ...[Int8Array, Int16Array, Uint16Array, Int32Array, Uint32Array].map((Class) => Class.of(1, 2)),
        ...[Float32Array, Float64Array].map((Class) => Class.of(0.5, NaN)),
        ...[BigInt64Array, BigUint64Array].map((Class) => Class.of(7n)),
        Uint8ClampedArray.of(255),
        Float64Array.of(1, 2, 3).subarray(1),
      ],
    ],
    ['many objects of one shape', Array.from({ length: 1000 }, (_, i) => ({ i, name: `n${i}` }))],
  ])('%s', (_what, object) => {
    expect(transported(object)).toStrictEqual(object);
  });

  test.each([Float16Bits, BFloat16Bits])('$name', (Bits) => {
    const given = Bits.fromFloat32([1, -2, 0.5]).subarray(1);
    const arrived = transported({ given }) as { given: Float16Bits };
    expect(arrived.given).toBeInstanceOf(Bits);
    expect([...arrived.given.toFloat32()]).toEqual([-2, 0.5]);
  });

  test('errors, with name, message and cause', () => {
    const arrived = transported(new TypeError('outer', { cause: new RangeError('inner') })) as TypeError;
    expect(arrived).toBeInstanceOf(TypeError);
    expect(arrived.message).toBe('outer');
    expect(arrived.cause).toBeInstanceOf(RangeError);
    expect((arrived.cause as Error).message).toBe('inner');
  });

  test('references and cycles', () => {
    const one: Record<string, unknown> = { name: 'one' };
    one['self'] = one;
    one['map'] = new Map([[one, [one]]]);
    const arrived = transported(one) as typeof one;
    expect(arrived['self']).toBe(arrived);
    expect((arrived['map'] as Map<unknown, unknown[]>).get(arrived)![0]).toBe(arrived);
  });

  test('a Buffer as its bytes', () => {
    expect(transported([Buffer.from('x')])).toStrictEqual([Uint8Array.of(120)]);
  });

  test('an instance of a class as its fields', () => {
    expect(transported(new Point())).toStrictEqual({ x: 1, y: 2 });
  });
});

class Table extends Map {}
class Bytes extends Uint8Array {}

test.each<[string, unknown, RegExp]>([
  ['a function', test, /^object is a function, which cannot be sent to another process\. /],
  ['a symbol', Symbol('s'), /^object is a symbol/],
  ['a function in a list', { hooks: [1, test] }, /^object\.hooks\[1\] is a function/],
  ['a method of a class without one', { 'a-b': { c: test } }, /^object\["a-b"\]\.c is a function/],
  ['a value of a Map', new Map([['on', test]]), /^object\.get\('on'\) is a function/],
  ['a key of a Map', { m: new Map([[Symbol('k'), 1]]) }, /^object\.m\[a key\] is a symbol/],
  ['a member of a Set', new Set([test]), /^object\[a member\] is a function/],
  ['a cause', new Error('e', { cause: test }), /^object\.cause is a function/],
  ['a promise', [Promise.resolve()], /^object\[0\] is an instance of Promise/],
  ['a WeakMap', { w: new WeakMap() }, /^object\.w is an instance of WeakMap/],
  ['shared memory', new SharedArrayBuffer(1), /^object is an instance of SharedArrayBuffer/],
  [
    'a boxed number',
    [Object(3)],
    /^object\[0\] is of class Number, which would be received as a different value/,
  ],
  ['a boxed BigInt', [Object(3n)], /^object\[0\] is of class BigInt/],
  ['an AggregateError', new AggregateError([]), /^object is of class AggregateError/],
  ["a Map's heir", new Table(), /^object is of class Table/],
  [
    'a hole',
    { list: Object.assign([1], { 2: 3 }) },
    /^object\.list\[1\] is a hole, which would be received as a different value/,
  ],
  ['an array of holes', [new Array(2)], /^object\[0\]\[0\] is a hole/],
  [
    'a key __proto__',
    [JSON.parse('{"__proto__":{"admin":true}}')],
    /^object\[0\] is an object with a key '__proto__', which would be received as a different value/,
  ],
  ['a lone surrogate', { text: 'a\ud800b' }, /^object\.text is a string with a lone surrogate/],
  ['a lone surrogate in a list', ['\udc00'], /^object\[0\] is a string with a lone surrogate/],
  ['a lone surrogate at the top', '\ud800', /^object is a string with a lone surrogate/],
  [
    'a lone surrogate in a key',
    { a: { '\ud800': 1 } },
    /^object\.a\[a key\] is a string with a lone surrogate/,
  ],
  [
    'a lone surrogate in a key of a Map',
    new Map([['\ud800', 1]]),
    /^object\[a key\] is a string with a lone/,
  ],
  ['a lone surrogate in a Set', new Set(['\ud800']), /^object\[a member\] is a string with a lone/],
  ['a lone surrogate in a message', new Error('\ud800'), /^object\.message is a string with a lone/],
  ["a typed array's heir", new Bytes(1), /^object is of class Bytes/],
])('%s is refused, with its path', (_what, object, message) => {
  const call = () => packObject(object, 'object');
  expect(call).toThrow(InvalidArgumentError);
  expect(call).toThrow(message);
});

test('a value that cannot be sent is found beyond a cycle', () => {
  const one: Record<string, unknown> = {};
  one['self'] = [one];
  one['last'] = test;
  expect(() => packObject(one, 'objects[2]')).toThrow(/^objects\[2\]\.last is a function/);
});

test('an object that is nested too deeply is refused, and later ones are packed', () => {
  let deep: unknown = 1;
  for (let i = 0; i < 50_000; i++) deep = [deep];
  expect(() => packObject(deep, 'object')).toThrow(/^object could not be packed: .*stack/);
  expect(transported({ a: 1 })).toEqual({ a: 1 });
});
