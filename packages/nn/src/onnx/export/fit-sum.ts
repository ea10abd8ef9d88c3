import { asFraction, type SizeExpression, type Sum } from './size-expression.ts';

/** A number of the traced graphs, one for each observation: a call, or an element of an array in a call. */
export type Column = readonly number[];

/** A known expression and its value in each observation. */
export interface Known {
  readonly expression: SizeExpression;
  readonly column: Column;
}

/** A product of known numbers. */
export interface Monomial {
  readonly of: readonly SizeExpression[];
  readonly column: Column;
}

export const monomialOf = (...factors: readonly Known[]): Monomial => ({
  of: factors.map(({ expression }) => expression),
  column: factors[0].column.map((_, row) =>
    factors.reduce((product, { column }) => product * column[row], 1),
  ),
});

/**
 * Fits the column as a linear combination of the monomials plus a constant, exact in every observation; undefined if impossible.
 * Needs more observations than coefficients: the others verify the sum.
 */
export function fitSum(column: Column, monomials: readonly Monomial[]): Sum | undefined {
  const all = [...monomials, { of: [], column: column.map(() => 1) }];
  if (column.length < all.length + 2) return undefined;
  const solved = solve(
    column.map((_, row) => all.map((monomial) => monomial.column[row])),
    column,
  );
  const exact = solved.map((coefficient) => nearFraction(coefficient));
  for (const coefficients of [exact, solved]) {
    const value = (row: number) =>
      coefficients.reduce((sum, coefficient, term) => sum + coefficient * all[term].column[row], 0);
    if (!column.every((number, row) => isClose(number, value(row)))) continue;
    const terms = all.map(({ of }, term) => ({ factor: coefficients[term], of }));
    const present = terms.filter(({ factor }) => factor !== 0);
    return { op: 'Sum', terms: present.length > 0 ? present : terms.slice(-1) };
  }
  return undefined;
}

/** Gaussian elimination with row pivoting; 0 for undetermined unknowns. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, index) => [...row, right[index]]);
  const unknowns = matrix[0].length;
  const scale = Array.from({ length: unknowns }, (_, unknown) =>
    Math.max(...rows.map((row) => Math.abs(row[unknown]))),
  );
  const pivots: (readonly number[] | undefined)[] = [];
  for (let unknown = 0; unknown < unknowns; unknown += 1) {
    const pivot = rows.reduce((best, row) => (Math.abs(row[unknown]) > Math.abs(best[unknown]) ? row : best));
    if (Math.abs(pivot[unknown]) <= 1e-9 * scale[unknown]) {
      pivots.push(undefined);
      continue;
    }
    rows.splice(rows.indexOf(pivot), 1);
    pivots.push(pivot);
    for (const row of rows) {
      const factor = row[unknown] / pivot[unknown];
      for (let other = unknown; other <= unknowns; other += 1) row[other] -= factor * pivot[other];
    }
  }
  const solution = Array<number>(unknowns).fill(0);
  for (let unknown = unknowns - 1; unknown >= 0; unknown -= 1) {
    const pivot = pivots[unknown];
    if (pivot === undefined) continue;
    const known = solution.reduce(
      (sum, value, other) => (other > unknown ? sum + value * pivot[other] : sum),
      0,
    );
    solution[unknown] = (pivot[unknowns] - known) / pivot[unknown];
  }
  return solution;
}

/** Rounds a coefficient to the fraction within the elimination's rounding error. */
function nearFraction(coefficient: number): number {
  const fraction = asFraction(Math.round(coefficient * 1e7) / 1e7);
  const whole = Math.round(coefficient);
  if (Math.abs(coefficient - whole) < 1e-6) return whole + 0;
  return fraction ? fraction.numerator / fraction.denominator : coefficient;
}

export function isClose(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b), 1e-3);
}
