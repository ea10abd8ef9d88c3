/** A number as a function of the batch size n: factor·n + offset, or one divided by that. */
export interface BatchFormula {
  readonly factor: number;
  readonly offset: number;
  readonly isReciprocal: boolean;
}

/**
 * The formula that gives these numbers for these batch sizes, or undefined if there is none.
 *
 * @param sizes three different ones: two make the formula, and the third confirms it
 * @param numbers by the size; not all equal
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

/** Numbers are computed in double: what is an integer but for its rounding is one. */
function rounded(number: number): number {
  return Math.abs(number - Math.round(number)) < 1e-9 ? Math.round(number) : number;
}

function isClose(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b), 1e-3);
}

/** A fraction with a small denominator, such as n / 2; undefined if the number is none. */
export function asFraction(number: number): { numerator: number; denominator: number } | undefined {
  for (let denominator = 1; denominator <= 1024; denominator += 1) {
    const numerator = Math.round(number * denominator);
    if (Math.abs(number * denominator - numerator) < 1e-9) return { numerator, denominator };
  }
  return undefined;
}
