import { expect, test } from 'vitest';
import { isSameList } from '../src/same-list.ts';

test('lists with the same elements in the same order are equal', () => {
  expect(isSameList([], [])).toBe(true);
  expect(isSameList([1, 2], [1, 2])).toBe(true);
  expect(isSameList([1, 2], [2, 1])).toBe(false);
  expect(isSameList([1, 2], [1, 2, 3])).toBe(false);
  expect(isSameList([1, 2, undefined], [1, 2])).toBe(false);
  expect(isSameList([{}], [{}])).toBe(false);
});

test('compares elements by a function', () => {
  const isNumberOf = (number: number, text: string) => String(number) === text;
  expect(isSameList([1, 2], ['1', '2'], isNumberOf)).toBe(true);
  expect(isSameList([1, 2], ['1', '3'], isNumberOf)).toBe(false);
});
