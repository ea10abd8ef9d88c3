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
