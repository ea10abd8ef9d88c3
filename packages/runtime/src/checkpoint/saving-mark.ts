import { rmSync, writeFileSync } from 'node:fs';

/** A file beside the worker's error record: while it exists, the launcher lets the worker write its checkpoint to the end, within the grace period, before it sends SIGKILL. */
export function savingMarkOf(errorFile: string): string {
  return `${errorFile}.saving`;
}

/** Where this process has its mark; undefined without a launcher. */
export function ownSavingMark(env: NodeJS.ProcessEnv): string | undefined {
  const errorFile = env['RINGRUN_ERROR_FILE'];
  return errorFile ? savingMarkOf(errorFile) : undefined;
}

/** Without the mark the process has less time in the end, and nothing else changes: errors are ignored. */
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
