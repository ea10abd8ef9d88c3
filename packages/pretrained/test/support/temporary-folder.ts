import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** An empty folder for all tests of a file. Call it at the top level of the file. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ringrun-pretrained-')));
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}
