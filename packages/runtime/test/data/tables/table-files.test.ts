import { expect, test } from 'vitest';
import { globExpression } from '../../../src/data/tables/table-files.ts';

test.each([
  ['*.parquet', ['a.parquet', '.parquet'], ['a/b.parquet', 'a.parquetx', 'aparquet']],
  ['train-?.arrow', ['train-1.arrow'], ['train-12.arrow', 'train-/.arrow']],
  ['**/*.csv', ['a.csv', 'a/b/c.csv'], ['a.csv/b']],
  ['a/**', ['a/b', 'a/b/c'], ['b/a/c']],
  ['a+(b)[c]', ['a+(b)[c]'], ['aab[c]']],
])('%s matches names', (pattern, matching, others) => {
  const expression = globExpression(pattern);
  expect(matching.filter((name) => !expression.test(name))).toEqual([]);
  expect(others.filter((name) => expression.test(name))).toEqual([]);
});
