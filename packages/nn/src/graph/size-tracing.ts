let depth = 0;

/**
 * Runs a synchronous function that records the same operations for all sizes of its inputs, as an exported model needs them:
 * operations that change nothing for one size, such as a Reshape to the same shape, are kept, and positions that
 * count from the end of a dimension stay relative to the end.
 */
export function tracingSizes<T>(run: () => T): T {
  depth += 1;
  try {
    return run();
  } finally {
    depth -= 1;
  }
}

/** True inside `tracingSizes`. */
export function isTracingSizes(): boolean {
  return depth > 0;
}
