/** A sum of products of sizes, or its reciprocal: 3·batch·length + 1. */
export interface SizeFormula {
  readonly terms: readonly SizeTerm[];
  readonly isReciprocal: boolean;
}

/** A factor times the sizes at these positions; without positions, a number. */
export interface SizeTerm {
  readonly factor: number;
  readonly positions: readonly number[];
}

/** Calls of a function with different sizes, from which formulas of the sizes follow. */
export class SizeSamples {
  /** Names of the sizes, such as `batch`. */
  readonly names: readonly string[];
  /** The sizes in each call. */
  readonly calls: readonly (readonly number[])[];
  /** For each call, which of its three values each size has. */
  readonly #choices: readonly (readonly number[])[];

  /**
   * The first value of each size is that of most calls. The second one finds how a number depends on it, alone and together with
   * each other size. The third one verifies the formula.
   *
   * @param values three different values of each size
   */
  constructor(values: ReadonlyMap<string, readonly [number, number, number]>) {
    this.names = [...values.keys()];
    const first = this.names.map(() => 0);
    const alone = first.flatMap((_, size) => [first.with(size, 1), first.with(size, 2)]);
    const pairs = first.flatMap((_, i) => first.slice(0, i).map((_other, j) => first.with(i, 1).with(j, 1)));
    const last = pairs.length > 0 ? [first.map(() => 2)] : [];
    this.#choices = [first, ...alone, ...pairs, ...last];
    const all = [...values.values()];
    this.calls = this.#choices.map((choice) => choice.map((value, size) => all[size][value]));
  }

  /** The sizes of a call, for messages. */
  describe(call: number): string {
    return this.names.map((name, size) => `a ${name} of ${this.calls[call][size]}`).join(' and ');
  }

  /** The formula of numbers that depend on the sizes, one for each call; undefined if no formula matches. */
  formulaOf(numbers: readonly number[]): SizeFormula | undefined {
    const terms = this.#termsOf(numbers);
    if (terms) return { terms, isReciprocal: false };
    if (numbers.includes(0)) return undefined;
    const reciprocal = this.#termsOf(numbers.map((number) => 1 / number));
    return reciprocal && { terms: reciprocal, isReciprocal: true };
  }

  #termsOf(numbers: readonly number[]): SizeTerm[] | undefined {
    const [base] = this.calls;
    const at = (...changed: number[]) => {
      const choice = base.map((_, size) => Number(changed.includes(size))).join();
      return this.#choices.findIndex((other) => other.join() === choice);
    };
    const step = (size: number) => this.calls[at(size)][size] - base[size];
    const products = base.flatMap((_, i) =>
      base.slice(0, i).map((_other, j) => {
        const change = numbers[at(i, j)] - numbers[at(i)] - numbers[at(j)] + numbers[at()];
        return { factor: rounded(change / (step(i) * step(j))), positions: [j, i] };
      }),
    );
    const alone = base.map((_, size) => {
      const slope = (numbers[at(size)] - numbers[at()]) / step(size);
      const ofProducts = products.filter(({ positions }) => positions.includes(size));
      const others = ofProducts.map(
        ({ factor, positions }) => factor * base[positions.find((other) => other !== size)!],
      );
      return { factor: rounded(slope - sum(others)), positions: [size] };
    });
    const offset = { factor: rounded(numbers[at()] - valueOf([...products, ...alone], base)), positions: [] };
    const terms = [...products, ...alone, offset];
    const matches = this.calls.every((sizes, call) => isClose(valueOf(terms, sizes), numbers[call]));
    return matches ? terms.filter(({ factor }) => factor !== 0) : undefined;
  }
}

function valueOf(terms: readonly SizeTerm[], sizes: readonly number[]): number {
  return sum(
    terms.map(({ factor, positions }) => positions.reduce((product, size) => product * sizes[size], factor)),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Rounds a double that is an integer up to rounding error. */
function rounded(number: number): number {
  return Math.abs(number - Math.round(number)) < 1e-9 ? Math.round(number) + 0 : number;
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
