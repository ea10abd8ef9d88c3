/** Errors whose message tells all: a stack would only show ringrun's own lines. */
const mistakes = new WeakSet<object>();
let isInstalled = false;

/**
 * Runs `read`, which reads what a user has set outside of the program. An error of it that nobody catches is printed as one line on stderr, and the exit
 * code is 1; with RINGRUN_DEBUG set, Node prints it with its stack.
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
  // A program that handles the exception itself goes on.
  if (process.listenerCount('uncaughtException') > 0) return;
  process.stderr.write(`ringrun: ${error.message}\n`);
  process.exit(1);
}
