import { rmSync, writeFileSync } from 'node:fs';

/**
 * A file next to the worker's error record. While it exists, the launcher waits for the worker to complete
 * its checkpoint, for at most the grace period, before it sends SIGKILL.
 */
export function savingMarkOf(errorFile: string): string {
  return `${errorFile}.saving`;
}

/** The path of this process's mark; undefined without a launcher. */
export function ownSavingMark(env: NodeJS.ProcessEnv): string | undefined {
  const errorFile = env['RINGRUN_ERROR_FILE'];
  return errorFile ? savingMarkOf(errorFile) : undefined;
}

/** Ignores errors: without the mark the launcher only waits for a shorter time. */
export function setMark(path: string | undefined): void {
  quietly(() => {
    if (path !== undefined) writeFileSync(path, '');
  });
}

export function removeMark(path: string | undefined): void {
  quietly(() => {
    if (path !== undefined) rmSync(path, { force: true });
  });
}

function quietly(act: () => void): void {
  try {
    act();
  } catch {
    // See setMark.
  }
}
