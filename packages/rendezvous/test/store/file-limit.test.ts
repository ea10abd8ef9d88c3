import { expect, test } from 'vitest';
import { fileLimitWarning, warningFor } from '../../src/store/file-limit.ts';

const limits = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 ${soft}                 files\n`;

test('warns about a limit below the number of clients, with the limit needed', () => {
  expect(warningFor(limits('1024'), 2000)).toMatch(
    /limit of open files is 1024, but .* 2000 clients needs about 2200: .*ulimit -n 2200/,
  );
});

test('does not warn about a sufficient or missing limit', () => {
  expect(warningFor(limits('1024'), 824)).toBeUndefined();
  expect(warningFor(limits('unlimited'), 1e6)).toBeUndefined();
  expect(warningFor('', 1e6)).toBeUndefined();
  expect(fileLimitWarning(1)).toBeUndefined();
});
