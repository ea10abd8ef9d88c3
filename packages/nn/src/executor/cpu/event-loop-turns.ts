/*
 * Short runs end without a turn of the event loop. A training that consists of them would keep timers, messages and signals
 * waiting until it ends.
 */

/** Milliseconds after which a run waits for the event loop's next turn. */
const maxMs = 4;

let lastTurn = performance.now();

/** Records that the event loop has had a turn. */
export function eventLoopTurned(): void {
  lastTurn = performance.now();
}

/** Resolves after a turn of the event loop; undefined if the last one was a short time ago. */
export function turnOfEventLoopIfDue(): Promise<void> | undefined {
  if (performance.now() - lastTurn < maxMs) return undefined;
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
