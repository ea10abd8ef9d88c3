import { withoutCredentials } from '@ringrun/core';

/** Prints one line to stderr. */
export function log(line: string): void {
  process.stderr.write(`ringrun: ${withoutCredentials(line)}\n`);
}
