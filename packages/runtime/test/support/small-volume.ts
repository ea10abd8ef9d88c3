import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

/** A folder with a separate file system; undefined if this user may not mount. */
export function mounted(options: string): string | undefined {
  const folder = temporaryFolder();
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status !== 0) return undefined;
  onTestFinished(() => {
    spawnSync('umount', [folder]);
  });
  return folder;
}

/** Whether this user may mount. */
export const canMount =
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp']).status === 0 &&
  process.getuid?.() === 0;
/** For the titles of tests that are skipped. */
export const mountProblem = canMount ? '' : ': skipped, mounting needs root';

/** Takes all space of a volume. Returns a function that frees it. */
export function fill(folder: string): () => void {
  const ballast = join(folder, 'ballast');
  for (let bytes = 2 ** 20; bytes >= 1; bytes /= 2)
    try {
      for (;;) writeFileSync(ballast, new Uint8Array(bytes), { flag: 'a' });
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
  return () => {
    rmSync(ballast);
  };
}
