import { describe, expect, test } from 'vitest';
import { beyondLimit } from '../compile/object-cache.js';
import { unitsOf } from '../compile/units.js';

const source = (name: string, kilobytes: number) => ({ name, bytes: kilobytes * 1024 });

describe('units of compilation', () => {
  test('hold the files of one folder, in order of their names', () => {
    expect(unitsOf([source('b/two.cc', 1), source('a/one.cc', 1), source('b/one.cc', 1)])).toEqual([
      ['a/one.cc'],
      ['b/one.cc', 'b/two.cc'],
    ]);
  });

  test('hold at most 32 KB, or one larger file', () => {
    expect(
      unitsOf([source('a/1.cc', 20), source('a/2.cc', 12), source('a/3.cc', 40), source('a/4.cc', 1)]),
    ).toEqual([['a/1.cc', 'a/2.cc'], ['a/3.cc'], ['a/4.cc']]);
  });

  test('of arithmetic hold one file each', () => {
    const names = [
      'operators/dropout.cc',
      'operators/gelu.cc',
      'operators/product/a.cc',
      'operators/product/b.cc',
    ];
    expect(unitsOf(names.map((name) => source(name, 1)))).toEqual(names.map((name) => [name]));
  });
});

test('the cache keeps the latest objects that fit its limit', () => {
  const objects = [
    { name: 'old', bytes: 1, usedAt: 1 },
    { name: 'new', bytes: 5, usedAt: 3 },
    { name: 'middle', bytes: 4, usedAt: 2 },
  ];
  expect(beyondLimit(objects, 9)).toEqual(['old']);
  expect(beyondLimit(objects, 10)).toEqual([]);
});
