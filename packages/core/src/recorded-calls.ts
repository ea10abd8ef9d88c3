let version = 0;

/**
 * Increases when an earlier recording of a forward call may no longer represent the next call: a model changed its
 * mode, was frozen or wrapped, or its forward call did more than build a graph. `compileStep` with `traceOnce` compares
 * it.
 */
export function recordedCallsVersion(): number {
  return version;
}

/** Invalidates the forward calls recorded so far. */
export function invalidateRecordedCalls(): void {
  version += 1;
}
