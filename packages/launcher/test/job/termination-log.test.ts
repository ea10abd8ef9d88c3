import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { terminationLogPath, writeTerminationLog } from '../../src/job/termination-log.ts';
import { temporaryFolder } from '../support/launched.ts';

test('the report replaces the content of the file', () => {
  const path = join(temporaryFolder(), 'termination-log');
  writeFileSync(path, 'of an earlier container, and longer');
  writeTerminationLog('root cause: rank 1\n', path);
  expect(readFileSync(path, 'utf8')).toBe('root cause: rank 1\n');
});

test('keeps the end of a long report, which contains the root cause', () => {
  const path = join(temporaryFolder(), 'termination-log');
  writeFileSync(path, '');
  writeTerminationLog(`${'x'.repeat(5000)}root cause`, path);
  expect(readFileSync(path, 'utf8')).toBe(`${'x'.repeat(4086)}root cause`);
});

test('does not create the file', () => {
  const path = join(temporaryFolder(), 'termination-log');
  writeTerminationLog('root cause: rank 1\n', path);
  expect(existsSync(path)).toBe(false);
});

test("uses Kubernetes' path by default, or RINGRUN_TERMINATION_LOG", () => {
  expect(terminationLogPath({})).toBe('/dev/termination-log');
  expect(terminationLogPath({ RINGRUN_TERMINATION_LOG: ' ' })).toBe('/dev/termination-log');
  expect(terminationLogPath({ RINGRUN_TERMINATION_LOG: '/tmp/why' })).toBe('/tmp/why');
});
