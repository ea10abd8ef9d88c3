import { closeSync, constants, openSync, writeSync } from 'node:fs';

/** Maximum number of bytes that Kubernetes reads. */
const maxBytes = 4096;

/** Path of the file, for pods that set `terminationMessagePath`. */
const pathVariable = 'RINGRUN_TERMINATION_LOG';

/** Kubernetes' default of `terminationMessagePath`. */
const defaultPath = '/dev/termination-log';

export function terminationLogPath(env: NodeJS.ProcessEnv): string {
  return env[pathVariable]?.trim() || defaultPath;
}

/**
 * Writes `text` to the file in which Kubernetes expects the termination message, if that file exists and is writable.
 * Keeps only the end of a long text.
 */
export function writeTerminationLog(text: string, path = terminationLogPath(process.env)): void {
  try {
    // Without O_CREAT: the file exists only in a pod.
    const file = openSync(path, constants.O_WRONLY | constants.O_TRUNC);
    try {
      writeSync(file, Buffer.from(text).subarray(-maxBytes));
    } finally {
      closeSync(file);
    }
  } catch {
    // Ignored: the same text is on stderr.
  }
}
