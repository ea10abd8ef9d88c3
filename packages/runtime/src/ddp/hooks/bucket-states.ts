import { InvalidArgumentError } from '@ringrun/core';
import type { DistributedParameter, GradientBucket, Stateful } from '@ringrun/core';

/** What a hook keeps for one bucket of a model. */
export interface HookBucket {
  readonly parameters: readonly DistributedParameter[];
}

/** How a state of one bucket is read and loaded. */
export interface BucketState<Bucket, State> {
  readonly initial: State;
  of(bucket: Bucket): State;
  copy(state: State): State;
  /** Why the bucket cannot load the state; undefined if it can. */
  problem(bucket: Bucket, state: State): string | undefined;
  load(bucket: Bucket, state: State): void;
}

/** One state of all buckets of a hook. It may be loaded before the hook has been called. */
export class BucketStates<Bucket, State> implements Stateful {
  readonly #hook: string;
  readonly #buckets: readonly Bucket[];
  readonly #one: BucketState<Bucket, State>;
  #loaded: readonly State[] = [];

  /** @param hook its name, for errors */
  constructor(hook: string, buckets: readonly Bucket[], one: BucketState<Bucket, State>) {
    this.#hook = hook;
    this.#buckets = buckets;
    this.#one = one;
  }

  /** The arrays are not copied. */
  stateDict(): { buckets: State[] } {
    const unknown = this.#loaded.slice(this.#buckets.length);
    return { buckets: [...this.#buckets.map((bucket) => this.#one.of(bucket)), ...unknown] };
  }

  loadStateDict({ buckets }: { buckets: readonly State[] }): void {
    for (const [index, bucket] of this.#buckets.entries()) this.#require(bucket, index, buckets);
    this.#loaded = buckets.map((state) => this.#one.copy(state));
    for (const [index, bucket] of this.#buckets.entries()) this.#load(bucket, index);
  }

  /** Loads the state of a bucket that the hook is called for the first time. */
  enter(bucket: Bucket, { index, isLast }: GradientBucket): void {
    this.#require(bucket, index, this.#loaded);
    if (isLast && this.#loaded.length > index + 1)
      throw this.#differs(`${this.#loaded.length} buckets, got ${index + 1}`);
    this.#load(bucket, index);
  }

  #require(bucket: Bucket, index: number, states: readonly State[]): void {
    const problem = this.#one.problem(bucket, states.at(index) ?? this.#one.initial);
    if (problem !== undefined) throw this.#differs(`bucket ${index} with ${problem}`);
  }

  #load(bucket: Bucket, index: number): void {
    this.#one.load(bucket, this.#loaded.at(index) ?? this.#one.initial);
  }

  #differs(problem: string): InvalidArgumentError {
    return new InvalidArgumentError(
      `${this.#hook}: the loaded state is of another training: expected ${problem}. Use the same model, options of ${this.#hook} and bucketCapMb.`,
    );
  }
}

/**
 * The entry of a bucket among those that the hook has met; undefined at its first call. Buckets are first requested in the order
 * of their indices.
 *
 * @throws InvalidArgumentError for the gradients of a second model
 */
export function knownBucket<Bucket extends HookBucket>(
  hook: string,
  buckets: readonly Bucket[],
  { index, parameters }: GradientBucket,
): Bucket | undefined {
  const known = buckets.at(index);
  if (known !== undefined && known.parameters !== parameters) {
    throw new InvalidArgumentError(
      `${hook}: expected the gradients of one model, got those of a second one. Create one hook for each model.`,
    );
  }
  return known;
}
