import type { GradientBucket } from '@ringrun/core';
import { BucketStates, knownBucket } from './bucket-states.ts';
import { PowerSgdBucket, type PowerSgdSettings } from './power-sgd-bucket.ts';

/** The buckets of one model, and their states. */
export class PowerSgdBuckets {
  readonly #settings: PowerSgdSettings;
  readonly #buckets: PowerSgdBucket[] = [];
  /** The number of steps and the factors Q, which are equal on all ranks. */
  readonly state = new BucketStates('powerSgd', this.#buckets, {
    initial: { iterations: 0, factors: new Float32Array() },
    of: ({ shared }) => shared,
    copy: ({ iterations, factors }) => ({ iterations, factors: factors.slice() }),
    problem: (bucket, { factors }) => bucket.problemOf('factors', factors),
    load: (bucket, shared) => {
      bucket.shared = shared;
    },
  });
  /** The error feedback of this rank. */
  readonly rankState = new BucketStates('powerSgd', this.#buckets, {
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

  of(bucket: GradientBucket): PowerSgdBucket {
    return knownBucket('powerSgd', this.#buckets, bucket) ?? this.#create(bucket);
  }

  #create(bucket: GradientBucket): PowerSgdBucket {
    const created = new PowerSgdBucket(bucket, this.#settings);
    for (const states of [this.state, this.rankState]) states.enter(created, bucket);
    this.#buckets[bucket.index] = created;
    return created;
  }
}
