import { closeSync, constants, openSync, writeSync } from 'node:fs';

/** Kubernetes shows this much of it. */
const mostBytes = 4096;

/**
 * Leaves `text` where Kubernetes looks for the reason of a container's end, when that file exists and may be written; of a long text
 * the end. Does nothing otherwise.
 */
export function writeTerminationLog(text: string, path = '/dev/termination-log'): void {
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
