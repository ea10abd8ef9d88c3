/**
 * Milliseconds on the monotonic clock that all processes of a host share, unlike `performance.now()`. A change of the wall
 * clock does not change it.
 */
export function hostTime(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
