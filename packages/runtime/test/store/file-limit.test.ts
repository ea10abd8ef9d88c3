import { expect, test } from 'vitest';
import { fileLimitWarning, warningFor } from '../../src/store/file-limit.ts';

const limits = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 ${soft}                 files\n`;

test('a limit in the way of a store’s clients is said, with what is needed', () => {
  expect(warningFor(limits('1024'), 2000)).toMatch(
    /may open 1024 files, and 2000 clients .* need about 2200: .*ulimit -n 2200/,
  );
});

test('one that suffices, or is none, is not', () => {
  expect(warningFor(limits('1024'), 824)).toBeUndefined();
  expect(warningFor(limits('unlimited'), 1e6)).toBeUndefined();
  expect(warningFor('', 1e6)).toBeUndefined();
  expect(fileLimitWarning(1)).toBeUndefined();
});
