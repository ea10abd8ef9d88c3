import { mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { repository } from './environment.ts';

/** An empty folder outside of the repository for all tests of a file. Call it at the top level of the file. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ringrun-test-')));
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** A temporary folder whose scripts can import the dependencies of the repository's root. */
export function temporaryProject(): string {
  const folder = temporaryFolder();
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
