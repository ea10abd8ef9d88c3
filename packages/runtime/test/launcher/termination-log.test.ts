import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { terminationLogPath, writeTerminationLog } from '../../src/launcher/termination-log.ts';
import { temporaryFolder } from './fixtures/launched.ts';

test('the report replaces what is in the file', () => {
  const path = join(temporaryFolder(), 'termination-log');
  writeFileSync(path, 'of an earlier container, and longer');
  writeTerminationLog('root cause: rank 1\n', path);
  expect(readFileSync(path, 'utf8')).toBe('root cause: rank 1\n');
});

test('of a long report the end is kept, where the root cause is', () => {
  const path = join(temporaryFolder(), 'termination-log');
  writeFileSync(path, '');
  writeTerminationLog(`${'x'.repeat(5000)}root cause`, path);
  expect(readFileSync(path, 'utf8')).toBe(`${'x'.repeat(4086)}root cause`);
});

test('a file that does not exist is not made', () => {
  const path = join(temporaryFolder(), 'termination-log');
  writeTerminationLog('root cause: rank 1\n', path);
  expect(existsSync(path)).toBe(false);
});

test('the file is that of Kubernetes, unless a variable names another', () => {
  expect(terminationLogPath({})).toBe('/dev/termination-log');
  expect(terminationLogPath({ RINGRUN_TERMINATION_LOG: ' ' })).toBe('/dev/termination-log');
  expect(terminationLogPath({ RINGRUN_TERMINATION_LOG: '/tmp/why' })).toBe('/tmp/why');
});
