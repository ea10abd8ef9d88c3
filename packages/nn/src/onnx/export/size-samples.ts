/** A size of the inputs that is dynamic. */
export interface DynamicSize {
  readonly name: string;
  /** Sizes that `forward` must accept. */
  readonly required: readonly number[];
  /** Additional sizes, which `forward` may reject. */
  readonly optional: readonly number[];
}

/** Calls of `forward` with different sizes, in which expressions of the sizes are verified. */
export class SizeSamples {
  /** Names of the sizes, such as `batch`. */
  readonly names: readonly string[];
  /** The sizes in each call. */
  readonly calls: readonly (readonly number[])[];

  private constructor(names: readonly string[], calls: readonly (readonly number[])[]) {
    this.names = names;
    this.calls = calls;
  }

  /**
   * Each size is combined with different required sizes of the others, so that no two sizes are equal or multiples of each other
   * in all calls. Without sizes there are two calls, which must record the same graph.
   */
  static of(sizes: readonly DynamicSize[]): { samples: SizeSamples; isRequired: readonly boolean[] } {
    const names = sizes.map(({ name }) => name);
    if (sizes.length === 0) return { samples: new SizeSamples([], [[], []]), isRequired: [true, true] };
    const calls = new Map<string, { call: readonly number[]; isRequired: boolean }>();
    const beside = sizes.map(() => 0);
    const add = (changed: number, size: number, isRequired: boolean) => {
      const call = sizes.map(({ required }, index) => {
        if (index === changed) return size;
        beside[index] += 1;
        return required[(beside[index] + changed) % required.length];
      });
      const key = call.join();
      if (!calls.has(key)) calls.set(key, { call, isRequired });
    };
    const first = sizes.map(({ required }) => required[0]);
    calls.set(first.join(), { call: first, isRequired: true });
    for (const [index, { required, optional }] of sizes.entries()) {
      for (const size of required) add(index, size, true);
      for (const size of optional) add(index, size, false);
    }
    const all = [...calls.values()];
    const samples = new SizeSamples(
      names,
      all.map(({ call }) => call),
    );
    return { samples, isRequired: all.map(({ isRequired }) => isRequired) };
  }

  /** The calls for which the condition holds. */
  filter(isKept: (call: number) => boolean): SizeSamples {
    return new SizeSamples(
      this.names,
      this.calls.filter((_, call) => isKept(call)),
    );
  }

  /** The sizes of a call, for messages. */
  describe(call: number): string {
    if (this.names.length === 0) return call === 0 ? 'the first call' : 'the second call';
    return this.names.map((name, size) => `a ${name} of ${this.calls[call][size]}`).join(' and ');
  }
}

/** Covers each remainder of divisions by up to 8 twice. */
const smallSizes = Array.from({ length: 16 }, (_, i) => i + 1);

/** Sizes that are multiples of the given batch: small ones, and larger ones that are unrelated to most numbers of a model. */
export function batchSizes(given: number): Pick<DynamicSize, 'required' | 'optional'> {
  const large = [97, 101, 1021].map((least) => given * primeFrom(Math.ceil(least / given)));
  const required = [...large, ...[1, 2, 3, 4, 5].map((times) => given * times)];
  const optional = [...smallSizes, 32].filter((size) => size % given !== 0 || given === 1);
  return unique({ required, optional });
}

/** Sizes up to the largest one, such as the length of a position table. */
export function sizesUpTo(largest: number): Pick<DynamicSize, 'required' | 'optional'> {
  const required = [largest, largest - 1, largest - 2];
  const middle = [5 / 7, 1 / 2, 1 / 3].map((share) => Math.round(largest * share));
  const optional = [...middle, ...smallSizes].filter((size) => size >= 1 && size < largest);
  return unique({ required, optional });
}

function unique({ required, optional }: Pick<DynamicSize, 'required' | 'optional'>) {
  const needed = [...new Set(required)];
  return { required: needed, optional: [...new Set(optional)].filter((size) => !needed.includes(size)) };
}

/** The smallest prime of at least `least`. */
function primeFrom(least: number): number {
  const isPrime = (number: number) => {
    for (let factor = 2; factor * factor <= number; factor += 1) if (number % factor === 0) return false;
    return number > 1;
  };
  let prime = Math.max(2, least);
  while (!isPrime(prime)) prime += 1;
  return prime;
}
