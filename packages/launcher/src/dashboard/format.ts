/*
 * Figures as the page and `ringrun top` both show them. The page's script contains this file, so it imports nothing.
 */

/**
 * Such as `0.5000`, `8.70e-5` and, for null, `NaN`.
 *
 * @param digits Digits after the point of a loss below 0.001.
 */
export function formatLoss(loss: number | null, digits: number): string {
  if (loss === null) return 'NaN';
  return Math.abs(loss) < 1e-3 && loss !== 0 ? loss.toExponential(digits) : loss.toFixed(4);
}

/** Five significant digits, such as `0.97`, `1234.5` and `3.2e-7`; for null, `NaN`. */
export function formatScalar(value: number | null): string {
  return value === null ? 'NaN' : String(Number(value.toPrecision(5)));
}

/** Such as `8.7 ms` and `1.18 s`. */
export function formatStep(seconds: number): string {
  return seconds < 1 ? `${(1000 * seconds).toFixed(1)} ms` : `${seconds.toFixed(2)} s`;
}

/** Such as `1 rank` and `8 ranks, restart 2`. */
export function formatSize({
  worldSize,
  restartCount,
}: {
  readonly worldSize: number;
  readonly restartCount: number;
}): string {
  const ranks = worldSize === 1 ? '1 rank' : `${worldSize} ranks`;
  return restartCount > 0 ? `${ranks}, restart ${restartCount}` : ranks;
}
