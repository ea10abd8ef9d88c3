/** Errors that are printed without a stack, which would only show ringrun's own lines. */
const mistakes = new WeakSet<object>();
let isInstalled = false;

/**
 * Runs `read`, which reads settings from outside the program. If its error is not caught, one line is printed on stderr
 * and the exit code is 1. With RINGRUN_DEBUG set, Node prints the stack.
 */
export function readingUserInput<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error) mistakes.add(error);
    if (!isInstalled) process.on('uncaughtExceptionMonitor', printMistake);
    isInstalled = true;
    throw error;
  }
}

function printMistake(error: unknown): void {
  if (!(error instanceof Error) || !mistakes.has(error) || process.env['RINGRUN_DEBUG']) return;
  // A program with its own handler continues.
  if (process.listenerCount('uncaughtException') > 0) return;
  process.stderr.write(`ringrun: ${error.message}\n`);
  process.exit(1);
}
