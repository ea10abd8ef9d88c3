import { expect, test } from 'vitest';
import { node } from './support/command.ts';
import { isFull } from './support/extent.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

test.runIf(isFull)(
  'npm start without a network trains on synthetic digits and reports it at the end',
  async () => {
    const { code, stdout, stderr } = await node(['scripts/start.js'], {
      env: { XDG_CACHE_HOME: temporaryFolder(), RINGRUN_MNIST_MIRRORS: '' },
      limitMs: 240_000,
    }).ended;
    expect(code).toBe(0);
    expect(stderr).toContain('MNIST could not be downloaded: no mirror is configured.');
    expect(stderr).toContain('npm start continues with --synthetic.');
    expect(stdout).toMatch(/\naccuracy 0\.9\d{3} on synthetic digits, not MNIST\n$/);
  },
);
