import { existsSync, writeFileSync } from 'node:fs';

/** A file next to the worker's error record. It exists once the worker belongs to a fault-tolerant job. */
export function recoveryMarkOf(errorFile: string): string {
  return `${errorFile}.recovers`;
}

/** Whether the worker with this error record belonged to a fault-tolerant job. */
export function hasRecoveryMark(errorFile: string | undefined): boolean {
  return errorFile !== undefined && existsSync(recoveryMarkOf(errorFile));
}

/** Ignores errors: without the mark, the launcher ends the job when a worker dies. */
export function setRecoveryMark(env: NodeJS.ProcessEnv): void {
  const errorFile = env['RINGRUN_ERROR_FILE'];
  if (!errorFile) return;
  try {
    writeFileSync(recoveryMarkOf(errorFile), '');
  } catch {
    // See above.
  }
}
