import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

import { builtFile } from '../../test/support/built-script.ts';

const terminated = fileURLToPath(builtFile(new URL('threads.script.ts', import.meta.url)));

test('threads terminated inside an addon function end, and their process continues', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [terminated, '12'], { timeout: 30_000 });
  expect(stdout).toBe('terminated 12 threads\n');
});
