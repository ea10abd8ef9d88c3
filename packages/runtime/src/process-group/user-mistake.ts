import { RingrunError } from '@ringrun/core';

/** Errors that are printed without a stack, which would only show ringrun's own lines. */
const mistakes = new WeakSet<object>();

/** Codes of errors about a path or URL that the user named, such as `--data`, `--output` or `--resume`. */
const codesOfNamedLocations: ReadonlySet<string> = new Set([
  'ERR_DOWNLOAD',
  'ERR_INVALID_DATA',
  'ERR_CHECKPOINT_NOT_FOUND',
  'ERR_CHECKPOINT_NOT_READ',
]);

let isInstalled = false;

/**
 * From now on an uncaught error about a path or URL that the user named, or an error of `readingUserInput`, is printed
 * as one line on stderr, and the exit code is 1. With RINGRUN_DEBUG set, Node prints the stack. Calling it again
 * does nothing.
 */
export function installMistakePrinter(): void {
  if (!isInstalled) process.on('uncaughtExceptionMonitor', printMistake);
  isInstalled = true;
}

/** Runs `read`, which reads settings from outside the program. Its errors are mistakes of the user. */
export function readingUserInput<T>(read: () => T): T {
  installMistakePrinter();
  try {
    return read();
  } catch (error) {
    if (error instanceof Error) mistakes.add(error);
    throw error;
  }
}

function isMistake(error: Error): boolean {
  return mistakes.has(error) || (error instanceof RingrunError && codesOfNamedLocations.has(error.code));
}

function printMistake(error: unknown): void {
  if (!(error instanceof Error) || !isMistake(error) || process.env['RINGRUN_DEBUG']) return;
  // A program with its own handler continues.
  if (process.listenerCount('uncaughtException') > 0) return;
  process.stderr.write(`ringrun: ${error.message}\n`);
  process.exit(1);
}
