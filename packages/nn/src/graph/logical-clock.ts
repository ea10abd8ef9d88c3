let now = 0;

/** The number of changes of parameters and buffers that have been requested, which orders changes and nodes. */
export function logicalTime(): number {
  return now;
}

/** Advances the clock: existing nodes are older than the returned time. */
export function tick(): number {
  now += 1;
  return now;
}
