import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { builtFile } from '../../../test/support/built-script.ts';
import { fakeComputeLibraries } from '../fake-gpu/libraries.ts';

const script = fileURLToPath(builtFile(new URL('ending.script.ts', import.meta.url)));
const env = { ...process.env, ...fakeComputeLibraries() };

test.each([
  ['settle', 'pending work keeps a process alive until it has ended', '40\n'],
  ['exit', 'a process that exits ends cleanly while its GPU works', ''],
  ['terminate', 'a thread is terminated while its GPU works, and the process continues', '40\n'],
])('%s: %s', async (way, _, output) => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, way], { env, timeout: 60_000 });
  expect(stdout).toBe(output);
});
