let version = 0;

/**
 * Increases when a forward call recorded before may no longer stand for the next one: a model changed its mode, was
 * frozen or wrapped, or its forward call did more than build a graph. `compileStep` with `traceOnce` compares it.
 */
export function recordedCallsVersion(): number {
  return version;
}

/** Forward calls recorded before must be made again. */
export function invalidateRecordedCalls(): void {
  version += 1;
}
