import { closeSync, constants, openSync, writeSync } from 'node:fs';

/** Kubernetes shows this much of it. */
const mostBytes = 4096;

/** Path of the file, for a pod whose `terminationMessagePath` is not Kubernetes' default. */
const pathVariable = 'RINGRUN_TERMINATION_LOG';

/** Kubernetes' default of `terminationMessagePath`. */
const defaultPath = '/dev/termination-log';

export function terminationLogPath(env: NodeJS.ProcessEnv): string {
  return env[pathVariable]?.trim() || defaultPath;
}

/**
 * Writes `text` to the file from which Kubernetes reads the reason of a container's end, if that file exists and is writable; of a long text
 * the end. Does nothing otherwise.
 */
export function writeTerminationLog(text: string, path = terminationLogPath(process.env)): void {
  try {
    // Without O_CREAT: outside of a pod there is no such file.
    const file = openSync(path, constants.O_WRONLY | constants.O_TRUNC);
    try {
      writeSync(file, Buffer.from(text).subarray(-mostBytes));
    } finally {
      closeSync(file);
    }
  } catch {
    // It is a copy of what stderr shows.
  }
}
