import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { userCache } from '../native/user-cache.js';
import { node } from './support/command.ts';
import { isFull } from './support/extent.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

test.runIf(isFull)(
  'npm start without a network trains on synthetic digits and reports it at the end',
  async () => {
    const { code, stdout, stderr } = await node(['scripts/start.js'], {
      env: { XDG_CACHE_HOME: cacheWithoutMnist(), RINGRUN_MNIST_MIRRORS: '' },
      limitMs: 240_000,
    }).ended;
    expect(code).toBe(0);
    expect(stderr).toContain('MNIST could not be downloaded: no mirror is configured.');
    expect(stderr).toContain('npm start continues with --synthetic.');
    // Every helper thread of the ranks runs.
    expect(stderr).not.toContain('helper thread failed');
    expect(stdout).toMatch(/\naccuracy 0\.9\d{3} on synthetic digits, not MNIST\n$/);
  },
  300_000,
);

/** It has the objects of the addon, whose compilation takes minutes. */
function cacheWithoutMnist(): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'ringrun'));
  symlinkSync(join(userCache(process.env), 'ringrun/objects'), join(folder, 'ringrun/objects'));
  return folder;
}
