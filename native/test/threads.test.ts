import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const terminated = fileURLToPath(new URL('fixtures/terminated.js', import.meta.url));

test('threads terminated inside an addon function end, and their process continues', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [terminated, '12'], { timeout: 30_000 });
  expect(stdout).toBe('terminated 12 threads\n');
});
