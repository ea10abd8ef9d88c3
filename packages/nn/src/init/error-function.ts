const twoOverRootPi = 2 / Math.sqrt(Math.PI);

/** The error function in double precision: x·exp(−x²)·Σ (2x²)ⁿ / (1·3·…·(2n+1)), whose terms are all positive. */
export function erf(x: number): number {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = 1;
  let sum = 1;
  for (let n = 1; term > sum * 1e-17; n += 1) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return twoOverRootPi * x * Math.exp(-x * x) * sum;
}

/** The x whose erf is y, from Winitzki's approximation by steps of Newton. ±Infinity for ±1. */
export function inverseErf(y: number): number {
  if (Math.abs(y) >= 1) return Math.abs(y) === 1 ? y * Infinity : NaN;
  const log = Math.log1p(-y * y);
  const half = 2 / (Math.PI * 0.147) + log / 2;
  let x = Math.sign(y) * Math.sqrt(Math.sqrt(half * half - log / 0.147) - half);
  for (let step = 0; step < 3; step += 1) x -= (erf(x) - y) / (twoOverRootPi * Math.exp(-x * x));
  return x;
}
