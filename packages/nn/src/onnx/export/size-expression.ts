/** A number that follows from the sizes of dimensions, which are numbered by the caller. */
export type SizeExpression = number | Dimension | Sum | SizeFunction | Choice;

/** The size of a dimension, or an index along one. */
export interface Dimension {
  readonly op: 'Dimension';
  readonly index: number;
}

/** A sum of products, such as 3·batch·length + 1. */
export interface Sum {
  readonly op: 'Sum';
  readonly terms: readonly SizeTerm[];
}

/** A factor, which may be a fraction, times other numbers; without these, a number. */
export interface SizeTerm {
  readonly factor: number;
  readonly of: readonly SizeExpression[];
}

/** FloorDiv and Mod round to the lower number and have the sign of the divisor, as in Python; Div is exact. */
export interface SizeFunction {
  readonly op: 'FloorDiv' | 'Mod' | 'Max' | 'Min' | 'Div';
  readonly a: SizeExpression;
  readonly b: SizeExpression;
}

/** The number at an index. */
export interface Choice {
  readonly op: 'Choice';
  readonly index: SizeExpression;
  readonly values: readonly number[];
}

const functions: Readonly<Record<SizeFunction['op'], (a: number, b: number) => number>> = {
  FloorDiv: (a, b) => Math.floor(a / b),
  Mod: (a, b) => a - b * Math.floor(a / b),
  Max: Math.max,
  Min: Math.min,
  Div: (a, b) => a / b,
};

/** The number for these sizes. */
export function valueOf(expression: SizeExpression, sizes: readonly number[]): number {
  if (typeof expression === 'number') return expression;
  switch (expression.op) {
    case 'Dimension':
      return sizes[expression.index];
    case 'Sum':
      return expression.terms.reduce(
        (sum, { factor, of }) =>
          sum + of.reduce<number>((product, one) => product * valueOf(one, sizes), factor),
        0,
      );
    case 'Choice':
      return expression.values[valueOf(expression.index, sizes)];
    case 'FloorDiv':
    case 'Mod':
    case 'Max':
    case 'Min':
    case 'Div':
      return functions[expression.op](valueOf(expression.a, sizes), valueOf(expression.b, sizes));
  }
}

/** The expression in words: `2*batch+1`. */
export function describeSize(expression: SizeExpression, names: readonly string[]): string {
  if (typeof expression === 'number') return String(expression);
  switch (expression.op) {
    case 'Dimension':
      return names[expression.index];
    case 'Sum':
      return expression.terms
        .map(({ factor, of }) => {
          const factors = of.map((one) => describeSize(one, names));
          return (factor === 1 && factors.length > 0 ? factors : [factor, ...factors]).join('*');
        })
        .join('+')
        .replaceAll('+-', '-');
    case 'FloorDiv':
      return `floor((${describeSize(expression.a, names)})/${describeSize(expression.b, names)})`;
    case 'Choice':
      return `[${expression.values.join()}][${describeSize(expression.index, names)}]`;
    case 'Mod':
    case 'Max':
    case 'Min':
    case 'Div':
      return `${expression.op.toLowerCase()}(${describeSize(expression.a, names)}, ${describeSize(expression.b, names)})`;
  }
}

/** The number as a fraction with a small denominator, such as n / 2; undefined if it is not one. */
export function asFraction(number: number): { numerator: number; denominator: number } | undefined {
  for (let denominator = 1; denominator <= 1024; denominator += 1) {
    const numerator = Math.round(number * denominator);
    if (Math.abs(number * denominator - numerator) < 1e-9) return { numerator, denominator };
  }
  return undefined;
}
