import { registry, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { recordError } from './error-record.ts';
import { recordExit } from './exit-record.ts';

/** Options of {@link installErrorRecord}. */
export interface ErrorRecordOptions {
  /**
   * True if the launcher prints the record, so that Node does not print the error again on every rank. Default:
   * `false`.
   */
  shownByLauncher?: boolean;
}

const optionNames: OptionNames<ErrorRecordOptions> = { shownByLauncher: true };

/**
 * Writes an `ErrorRecord` as JSON to the file in RINGRUN_ERROR_FILE on an uncaught exception or unhandled rejection;
 * the process then ends as usual. Writes nothing if the variable is not set. Also records an exit while other ranks need
 * the process, or with a code other than 0. Further calls do nothing.
 */
export function installErrorRecord(options: ErrorRecordOptions = {}): void {
  requireOptions('installErrorRecord', options, optionNames);
  const { shownByLauncher = false } = options;
  if (registry.errorRecordIsInstalled) return;
  registry.errorRecordIsInstalled = true;
  recordExit();
  // With a monitor, unlike a handler of `uncaughtException`, Node still prints the error and exits with 1.
  process.on('uncaughtExceptionMonitor', (error: unknown) => {
    const written = recordError(error);
    // A program with its own handler continues.
    const fatal = process.listenerCount('uncaughtException') === 0;
    if (written && shownByLauncher && fatal) process.exit(1);
  });
}
