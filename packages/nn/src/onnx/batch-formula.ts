/** A number as a function of the batch size n: factor·n + offset, or its reciprocal. */
export interface BatchFormula {
  readonly factor: number;
  readonly offset: number;
  readonly isReciprocal: boolean;
}

/**
 * Finds the formula of numbers that depend on the batch size; undefined if no formula matches.
 *
 * @param sizes three different batch sizes: two determine the formula, the third verifies it
 * @param numbers one per batch size; not all equal
 */
export function formulaOf(sizes: readonly number[], numbers: readonly number[]): BatchFormula | undefined {
  const straight = lineThrough(sizes, numbers);
  if (straight) return { ...straight, isReciprocal: false };
  if (numbers.includes(0)) return undefined;
  const reciprocal = lineThrough(
    sizes,
    numbers.map((number) => 1 / number),
  );
  return reciprocal && { ...reciprocal, isReciprocal: true };
}

function lineThrough(
  [a, b, c]: readonly number[],
  [atA, atB, atC]: readonly number[],
): { factor: number; offset: number } | undefined {
  const factor = rounded((atB - atA) / (b - a));
  const offset = rounded(atA - factor * a);
  return isClose(factor * c + offset, atC) && isClose(factor * b + offset, atB)
    ? { factor, offset }
    : undefined;
}

/** Rounds a double that is an integer up to rounding error. */
function rounded(number: number): number {
  return Math.abs(number - Math.round(number)) < 1e-9 ? Math.round(number) : number;
}

function isClose(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b), 1e-3);
}

/** The number as a fraction with a small denominator, such as n / 2; undefined if there is none. */
export function asFraction(number: number): { numerator: number; denominator: number } | undefined {
  for (let denominator = 1; denominator <= 1024; denominator += 1) {
    const numerator = Math.round(number * denominator);
    if (Math.abs(number * denominator - numerator) < 1e-9) return { numerator, denominator };
  }
  return undefined;
}
