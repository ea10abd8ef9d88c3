import { InvalidArgumentError } from '@ringrun/core';
import type { GradientBucket, Stateful } from '@ringrun/core';
import { PowerSgdBucket, type PowerSgdSettings } from './power-sgd-bucket.ts';

/** The buckets of one model, and their states. */
export class PowerSgdBuckets {
  readonly #settings: PowerSgdSettings;
  readonly #buckets: PowerSgdBucket[] = [];
  /** The number of steps and the factors Q, which are equal on all ranks. */
  readonly state = new BucketStates(this.#buckets, {
    initial: { iterations: 0, factors: new Float32Array() },
    of: ({ shared }) => shared,
    copy: ({ iterations, factors }) => ({ iterations, factors: factors.slice() }),
    problem: (bucket, { factors }) => bucket.problemOf('factors', factors),
    load: (bucket, shared) => {
      bucket.shared = shared;
    },
  });
  /** The error feedback of this rank. */
  readonly rankState = new BucketStates(this.#buckets, {
    initial: { errors: new Float32Array() },
    of: ({ errors }) => ({ errors }),
    copy: ({ errors }) => ({ errors: errors.slice() }),
    problem: (bucket, { errors }) => bucket.problemOf('errors', errors),
    load: (bucket, { errors }) => {
      bucket.errors = errors;
    },
  });

  constructor(settings: PowerSgdSettings) {
    this.#settings = settings;
  }

  /** Buckets are first requested in the order of their indices. */
  of(bucket: GradientBucket): PowerSgdBucket {
    const { index, parameters } = bucket;
    const known = this.#buckets.at(index);
    if (known === undefined) return this.#create(bucket);
    if (known.parameters !== parameters) {
      throw new InvalidArgumentError(
        'powerSgd: expected the gradients of one model, got those of a second one. Create one hook for each model.',
      );
    }
    return known;
  }

  #create(bucket: GradientBucket): PowerSgdBucket {
    const created = new PowerSgdBucket(bucket, this.#settings);
    for (const states of [this.state, this.rankState]) states.enter(created, bucket);
    this.#buckets[bucket.index] = created;
    return created;
  }
}

/** How a state of one bucket is read and loaded. */
interface BucketState<State> {
  readonly initial: State;
  of(bucket: PowerSgdBucket): State;
  copy(state: State): State;
  /** Why the bucket cannot load the state; undefined if it can. */
  problem(bucket: PowerSgdBucket, state: State): string | undefined;
  load(bucket: PowerSgdBucket, state: State): void;
}

/** One state of all buckets. It may be loaded before the hook has been called. */
class BucketStates<State> implements Stateful {
  readonly #buckets: readonly PowerSgdBucket[];
  readonly #one: BucketState<State>;
  #loaded: readonly State[] = [];

  constructor(buckets: readonly PowerSgdBucket[], one: BucketState<State>) {
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
  enter(bucket: PowerSgdBucket, { index, isLast }: GradientBucket): void {
    this.#require(bucket, index, this.#loaded);
    if (isLast && this.#loaded.length > index + 1)
      throw differs(`${this.#loaded.length} buckets, got ${index + 1}`);
    this.#load(bucket, index);
  }

  #require(bucket: PowerSgdBucket, index: number, states: readonly State[]): void {
    const problem = this.#one.problem(bucket, states.at(index) ?? this.#one.initial);
    if (problem !== undefined) throw differs(`bucket ${index} with ${problem}`);
  }

  #load(bucket: PowerSgdBucket, index: number): void {
    this.#one.load(bucket, this.#loaded.at(index) ?? this.#one.initial);
  }
}

function differs(problem: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `powerSgd: the loaded state is of another training: expected ${problem}. Use the same model, options of powerSgd and bucketCapMb.`,
  );
}
