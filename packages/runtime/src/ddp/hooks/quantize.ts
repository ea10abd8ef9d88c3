import { allReduceQuantized, allReduceQuantizedSync, QuantizationError } from '@ringrun/collectives';
import { ReduceOp, requireOptions } from '@ringrun/core';
import type { CommHook, GradientBucket, OptionNames } from '@ringrun/core';
import { BucketStates, knownBucket, type HookBucket } from './bucket-states.ts';

/** Options of {@link int8Compress} and {@link int4Compress}. */
export interface QuantizeOptions {
  /** Add what the rounding of a step lost to the next step's gradient. Default: `true`. */
  errorFeedback?: boolean;
}

const optionNames: OptionNames<QuantizeOptions> = { errorFeedback: true };

/**
 * Averages gradients as integers of 8 bits, which sends about a quarter of the bytes (torch has no such hook for training:
 * its quantization hooks send every rank's gradient to every rank). Each block of 256 gradients has one scale. A gradient is
 * rounded once by each rank and once more as the average, to at most 1/254 of the largest magnitudes of its block. Ranks on
 * one host average in float32, and round only what is sent to other hosts. See `allReduceQuantized` of `@ringrun/collectives`.
 *
 * The addon does the arithmetic on the thread that sends, while it waits for the network. Create one hook per model.
 *
 * Its `rankState` has the error feedback. With `faultTolerance: 'shrink'`, the error feedback of a dead rank is lost, and a
 * process that joins begins with an error of 0. NaN and infinity make their block NaN on all ranks, and leave its error as it is.
 *
 * @throws InvalidArgumentError for an unknown option
 */
export function int8Compress(options: QuantizeOptions = {}): CommHook {
  return quantized('int8Compress', 8, options);
}

/** Like `int8Compress` with 4 bits: an eighth of the bytes, and errors of up to 1/14 of the largest magnitudes. */
export function int4Compress(options: QuantizeOptions = {}): CommHook {
  return quantized('int4Compress', 4, options);
}

/** The error of one bucket's gradients. */
interface ErrorBucket extends HookBucket {
  readonly error: QuantizationError;
}

function quantized(name: string, bits: 8 | 4, options: QuantizeOptions): CommHook {
  requireOptions(name, options, optionNames);
  if (options.errorFeedback === false) return inBothForms(() => ({ bits, op: ReduceOp.AVG }));
  const buckets: ErrorBucket[] = [];
  const rankState = new BucketStates<ErrorBucket, { errors: Float32Array }>(name, buckets, {
    // Empty is 0.
    initial: { errors: new Float32Array() },
    of: ({ error }) => ({ errors: error.values }),
    copy: ({ errors }) => ({ errors: errors.slice() }),
    problem: ({ error }, { errors }) =>
      errors.length === 0 || errors.length === error.length
        ? undefined
        : `${error.length} numbers in errors, got ${errors.length}`,
    load: ({ error }, { errors }) => {
      if (errors.length === 0) error.values.fill(0);
      else error.loadStateDict({ error: errors });
    },
  });
  const errorOf = (bucket: GradientBucket): QuantizationError => {
    const known = knownBucket(name, buckets, bucket);
    if (known !== undefined) return known.error;
    const created = { parameters: bucket.parameters, error: new QuantizationError(bucket.data.length) };
    rankState.enter(created, bucket);
    buckets[bucket.index] = created;
    return created.error;
  };
  const hook = inBothForms((bucket) => ({ bits, op: ReduceOp.AVG, error: errorOf(bucket) }));
  return Object.assign(hook, { rankState });
}

function inBothForms(
  optionsFor: (bucket: GradientBucket) => Parameters<typeof allReduceQuantized>[2],
): CommHook {
  const later: CommHook = async (bucket, group) => {
    await allReduceQuantized(group, bucket.data, optionsFor(bucket));
  };
  const sync: CommHook['sync'] = (bucket, group) => {
    allReduceQuantizedSync(group, bucket.data, optionsFor(bucket));
  };
  return Object.assign(later, { sync });
}
