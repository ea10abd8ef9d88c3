import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ErrorRecord } from '../../../launcher/src/worker/error-record.ts';
import { start } from '../../../rendezvous/test/store/processes.ts';

async function fail(how: string, env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-error-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const startedAt = Date.now();
  const child = start(
    new URL('error-record.script.ts', import.meta.url),
    { RINGRUN_ERROR_FILE: join(folder, 'error.json'), ...env },
    [how],
  );
  const { code } = await child.ended;
  const files = readdirSync(folder);
  const record = files.includes('error.json')
    ? (JSON.parse(readFileSync(join(folder, 'error.json'), 'utf8')) as ErrorRecord)
    : undefined;
  return { code, files, record, pid: child.pid, stderr: child.output().stderr, startedAt };
}

test('an uncaught exception writes a record, and exits as without one', async () => {
  const { code, files, record, pid, stderr, startedAt } = await fail('throw', { RANK: '3' });
  expect(code).toBe(1);
  expect(files).toEqual(['error.json']);
  expect(record).toMatchObject({
    message: 'gradient of conv1 is NaN',
    code: 'ERR_NAN',
    operation: 'allReduce #41',
    rank: 3,
    host: hostname(),
    pid,
  });
  expect(record!.stack).toMatch(/^TypeError: gradient of conv1 is NaN\n.*error-record\.script\.js:\d+/);
  expect(record!.time).toBeGreaterThanOrEqual(startedAt);
  expect(record!.time).toBeLessThanOrEqual(Date.now());
  expect(stderr).toContain('TypeError: gradient of conv1 is NaN');
});

test('an unhandled rejection writes a record', async () => {
  const { code, record, stderr } = await fail('reject');
  expect(code).toBe(1);
  expect(record).toMatchObject({ message: 'nobody awaits this' });
  expect(record).not.toHaveProperty('rank');
  expect(stderr).toContain('nobody awaits this');
});

test('a thrown value that is not an Error is recorded', async () => {
  const { code, record } = await fail('string');
  expect(code).toBe(1);
  expect(record).toMatchObject({ message: "'just a string'", stack: "'just a string'" });
});

test('a record that cannot be written is reported together with the original error', async () => {
  const { code, stderr } = await fail('throw', { RINGRUN_ERROR_FILE: '/nonexistent/folder/error.json' });
  expect(code).toBe(1);
  expect(stderr).toContain('could not be recorded in /nonexistent/folder/error.json');
  expect(stderr).toContain('TypeError: gradient of conv1 is NaN');
});

test('writes nothing without an error or without RINGRUN_ERROR_FILE', async () => {
  expect(await fail('not at all')).toMatchObject({ code: 0, files: [] });
  expect(await fail('throw', { RINGRUN_ERROR_FILE: '' })).toMatchObject({ code: 1, files: [] });
});
