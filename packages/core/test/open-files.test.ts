import { expect, test } from 'vitest';
import { openFileLimit, openFilesProblem, parseOpenFilesLimit } from '../src/open-files.ts';

const withCode = (code: string, cause?: unknown) => Object.assign(new Error(code, { cause }), { code });

test('a lack of descriptors is named with the limit and the fix, also as the cause of another error', () => {
  const expected = new RegExp(
    String.raw`^too many open files: the limit of this process is ${openFileLimit()} \(ulimit -n\)\. Raise it`,
  );
  expect(openFilesProblem(withCode('EMFILE'))).toMatch(expected);
  expect(openFilesProblem(new Error('outer', { cause: withCode('EMFILE') }))).toMatch(expected);
  expect(openFilesProblem(new Error('socket failed: Too many open files'))).toMatch(expected);
  expect(openFilesProblem(withCode('ENFILE'))).toMatch(/^too many open files on this host: .*file-max/);
  expect(openFilesProblem(new Error('Too many open files in system'))).toMatch(/on this host/);
});

test('other errors are not a lack of descriptors', () => {
  for (const error of [
    withCode('EADDRINUSE'),
    new Error('x', { cause: withCode('ENOENT') }),
    'EMFILE',
    undefined,
  ])
    expect(openFilesProblem(error)).toBeUndefined();
});

test('the limit is the soft one in the text of the kernel', () => {
  const limits = (soft: string) =>
    `Max open files            ${soft}                 4096                 files\n`;
  expect(parseOpenFilesLimit(limits('1024'))).toBe(1024);
  expect(parseOpenFilesLimit(limits('unlimited'))).toBe(Infinity);
  expect(parseOpenFilesLimit('')).toBeUndefined();
  expect(openFileLimit()).toBeGreaterThan(0);
});
