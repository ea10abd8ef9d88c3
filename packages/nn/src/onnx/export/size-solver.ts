import { fitSum, isClose, monomialOf, type Column, type Known } from './fit-sum.ts';
import { asFraction, type SizeExpression, type Sum } from './size-expression.ts';
import { isSameSequence } from '../../graph/same-data.ts';

/** The largest divisors of sizes to try: one for floor divisions with an offset, one for sequences of remainders. */
const maxParts = 64;
const maxRemainders = 8;

/**
 * Finds an expression of the known numbers that equals the column in every observation; undefined if none is found. Forms: a
 * known number; a sum of products; a floor division; a maximum or minimum of two; a function of a remainder; and, for
 * fractions, a reciprocal.
 *
 * @param near numbers that all forms may contain, the preferred ones first
 * @param far numbers that only simple forms may contain
 */
export function expressionOf(
  column: Column,
  near: readonly Known[],
  far: readonly Known[] = [],
): SizeExpression | undefined {
  if (column.every((number) => Object.is(number, column[0]))) return column[0];
  if (column.some(Number.isNaN)) return undefined;
  return column.every(Number.isSafeInteger)
    ? integerExpressionOf(column, near, far)
    : (sumOf(column, near, far) ?? reciprocalOf(column, near, far));
}

function integerExpressionOf(
  column: Column,
  near: readonly Known[],
  far: readonly Known[],
): SizeExpression | undefined {
  const equal = [...near, ...far].find((known) => isSameSequence(known.column, column));
  if (equal) return equal.expression;
  const sum = sumOf(column, near, far);
  // A sum has whole numbers for all sizes only if its factors are small fractions, which are divided exactly.
  if (sum?.terms.every(({ factor }) => asFraction(factor) !== undefined)) return sum;
  return (
    first(near, (known) => flooredOf(column, known)) ??
    boundedOf(column, near) ??
    first(near, (known) => periodicOf(column, known)) ??
    first(far, (known) => flooredOf(column, known))
  );
}

function sumOf(column: Column, near: readonly Known[], far: readonly Known[]): Sum | undefined {
  const pairs = near.flatMap((a, i) => near.slice(i).map((b) => [a, b] as const));
  const different = pairs.filter(([a, b]) => a !== b).map((pair) => monomialOf(...pair));
  return (
    first(near, (known) => fitSum(column, [monomialOf(known)])) ??
    first(pairs, (pair) => fitSum(column, [monomialOf(...pair)])) ??
    first(pairs, (pair) => first(near, (third) => fitSum(column, [monomialOf(...pair, third)]))) ??
    (near.length > 1
      ? fitSum(
          column,
          near.map((known) => monomialOf(known)),
        )
      : undefined) ??
    (near.length > 1
      ? fitSum(column, [...different, ...near.map((known) => monomialOf(known))])
      : undefined) ??
    first(far, (known) => fitSum(column, [monomialOf(known)]))
  );
}

/** A number divided by a sum; its value is infinite where the sum is 0. */
function reciprocalOf(
  column: Column,
  near: readonly Known[],
  far: readonly Known[],
): SizeExpression | undefined {
  if (column.includes(0)) return undefined;
  const inverse = column.map((number) => 1 / number);
  const whole = inverse.map((number) => (isClose(number, Math.round(number)) ? Math.round(number) : number));
  if (whole.every(Number.isInteger)) {
    const divisor = integerExpressionOf(whole, near, far);
    if (divisor !== undefined) return { op: 'Div', a: 1, b: divisor };
  }
  const divisor = sumOf(inverse, near, far);
  if (divisor === undefined) return undefined;
  const [{ factor, of }] = divisor.terms;
  // c / n as one division, so that it rounds like the original number.
  if (divisor.terms.length > 1) return { op: 'Div', a: 1, b: divisor };
  return { op: 'Div', a: 1 / factor, b: { op: 'Sum', terms: [{ factor: 1, of }] } };
}

/**
 * p·⌊(m·size + q) / d⌋. Accepted only if the observed sizes determine the offset q uniquely: another one would round
 * differently for other sizes.
 */
function flooredOf(column: Column, { expression, column: sizes }: Known): SizeExpression | undefined {
  const common = column.reduce(greatestCommonDivisor, 0);
  const numbers = column.map((number) => number / common);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)].map((size) => sizes.indexOf(size));
  const slope = (numbers[most] - numbers[least]) / (sizes[most] - sizes[least]);
  for (let divisor = 2; divisor <= maxParts; divisor += 1) {
    const factor = Math.round(slope * divisor);
    if (factor === 0 || greatestCommonDivisor(factor, divisor) > 1) continue;
    const lower = numbers.map((number, row) => divisor * number - factor * sizes[row]);
    const offset = Math.max(...lower);
    if (offset !== Math.min(...lower) + divisor - 1) continue;
    const terms = [
      { factor, of: [expression] },
      { factor: offset, of: [] },
    ].filter((term) => term.factor !== 0);
    const floored = { op: 'FloorDiv', a: { op: 'Sum', terms }, b: divisor } as const;
    return common === 1 ? floored : { op: 'Sum', terms: [{ factor: common, of: [floored] }] };
  }
  return undefined;
}

/** The larger or the smaller of a sum and a number, or of two known numbers. */
function boundedOf(column: Column, near: readonly Known[]): SizeExpression | undefined {
  return first(['Max', 'Min'] as const, (op) => {
    const isMax = op === 'Max';
    const extreme = (a: number, b: number) => (isMax ? Math.max(a, b) : Math.min(a, b));
    const bound = isMax ? Math.min(...column) : Math.max(...column);
    const free = [...column.keys()].filter((row) => column[row] !== bound);
    const withBound = first(near, ({ expression, column: sizes }) => {
      const rows = (numbers: Column) => free.map((row) => numbers[row]);
      const known = { expression, column: rows(sizes) };
      const sum =
        fitSum(rows(column), [monomialOf(known)]) ?? shiftOf(rows(column), known, Math.min(...sizes));
      if (sum === undefined) return undefined;
      const fits = column.every((number, row) => {
        const value = sum.terms.reduce(
          (total, { factor, of }) => total + (of.length > 0 ? factor * sizes[row] : factor),
          0,
        );
        return extreme(value, bound) === number;
      });
      return fits ? ({ op, a: sum, b: bound } as const) : undefined;
    });
    if (withBound) return withBound;
    return first(near, (a) => {
      const b = near.find((other) =>
        column.every((number, row) => number === extreme(a.column[row], other.column[row])),
      );
      return b && ({ op, a: a.expression, b: b.expression } as const);
    });
  });
}

/** A known number plus or minus a constant one. One size suffices only if it is the smallest. */
function shiftOf(column: Column, { expression, column: sizes }: Known, least: number): Sum | undefined {
  if (new Set(sizes).size < 2 && sizes[0] !== least) return undefined;
  const factor = [1, -1].find((sign) =>
    column.every((number, row) => number - sign * sizes[row] === column[0] - sign * sizes[0]),
  );
  if (factor === undefined) return undefined;
  const offset = { factor: column[0] - factor * sizes[0], of: [] };
  return { op: 'Sum', terms: [{ factor, of: [expression] }, ...(offset.factor === 0 ? [] : [offset])] };
}

/**
 * p·⌊size / d⌋ plus a number that depends only on the remainder of the size, such as the elements missing to a
 * multiple of d. Every remainder must have been observed for several sizes.
 */
function periodicOf(column: Column, { expression, column: sizes }: Known): SizeExpression | undefined {
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)].map((size) => sizes.indexOf(size));
  const slope = (column[most] - column[least]) / (sizes[most] - sizes[least]);
  for (let period = 2; period <= maxRemainders; period += 1) {
    const factor = Math.round(slope * period) + 0;
    const rest = column.map((number, row) => number - factor * Math.floor(sizes[row] / period));
    const values = Array.from({ length: period }, (_, remainder) =>
      rest.find((_number, row) => sizes[row] % period === remainder),
    );
    const sizesWith = (remainder: number) =>
      new Set(sizes.filter((size) => size % period === remainder)).size;
    if (!values.every((value, remainder) => value !== undefined && sizesWith(remainder) > 1)) continue;
    if (!rest.every((number, row) => number === values[sizes[row] % period])) continue;
    const whole = { op: 'FloorDiv', a: expression, b: period } as const;
    const part = {
      op: 'Choice',
      index: { op: 'Mod', a: expression, b: period },
      values: values as number[],
    } as const;
    const terms = [
      { factor, of: [whole] },
      { factor: 1, of: [part] },
    ];
    return { op: 'Sum', terms: terms.filter((term) => term.factor !== 0) };
  }
  return undefined;
}

function greatestCommonDivisor(a: number, b: number): number {
  let [x, y] = [Math.abs(a), Math.abs(b)];
  while (y > 0) [x, y] = [y, x % y];
  return x;
}

/** The first result that is not undefined. */
function first<T, Result>(
  options: readonly T[],
  attempt: (option: T) => Result | undefined,
): Result | undefined {
  for (const option of options) {
    const result = attempt(option);
    if (result !== undefined) return result;
  }
  return undefined;
}
