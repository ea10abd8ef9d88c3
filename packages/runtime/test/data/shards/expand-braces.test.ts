import { expect, test } from 'vitest';
import { expandBraces } from '../../../src/data/shards/expand-braces.ts';

test.each([
  ['a.tar', ['a.tar']],
  ['{8..11}', ['8', '9', '10', '11']],
  ['x-{08..10}.tar', ['x-08.tar', 'x-09.tar', 'x-10.tar']],
  ['{000..002}', ['000', '001', '002']],
  ['{2..0}', ['2', '1', '0']],
  ['{a,b}/{0..1}.tar', ['a/0.tar', 'a/1.tar', 'b/0.tar', 'b/1.tar']],
  ['{a,}b', ['ab', 'b']],
])('%s is %j', (pattern, expected) => {
  expect(expandBraces(pattern)).toEqual(expected);
});

test.each(['{a}', '{1..b}', '{}', '{-1..2}'])('%s is refused', (pattern) => {
  expect(() => expandBraces(pattern)).toThrow('expected a range such as {000..019} or a list such as {a,b}');
});

test('a range of more than a million names is refused', () => {
  expect(() => expandBraces('{0..999}{0..1000}{a,b}')).toThrow('expected at most 1000000 names');
});
