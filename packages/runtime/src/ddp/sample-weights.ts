import { InvalidArgumentError, ReduceOp } from '@ringrun/core';
import type { ProcessGroup } from '@ringrun/core';
import type { Weigher } from './reducer-settings.ts';

/**
 * Weights each rank's gradients by its number of samples. The unit is the largest number of samples of any
 * rank in the first step. So equal batches have weight 1 exactly, and their average is bit-identical to the
 * unweighted one.
 */
export class SampleWeights implements Weigher {
  readonly divides = true;
  readonly #group: ProcessGroup;
  #samples = 0;
  #setByCaller: number | undefined;
  /** 0 if no rank had any samples. */
  #unit: number | undefined;

  constructor(group: ProcessGroup) {
    this.#group = group;
  }

  /** Adds the samples of one forward call. */
  addSamples(samples: number): void {
    this.#samples += samples;
  }

  /** Sets the number of samples until the next average, overriding `addSamples`. */
  setSamples(samples: number): void {
    this.#setByCaller = samples;
  }

  weigh(): number {
    const own = this.#setByCaller ?? (this.#samples > 0 ? this.#samples : 1);
    this.#samples = 0;
    this.#setByCaller = undefined;
    return own / this.#unitAmong(own);
  }

  anyRankTrains(): boolean {
    return this.#unitAmong(0) > 0;
  }

  #unitAmong(own: number): number {
    if (this.#unit === undefined) {
      const most = Float64Array.of(own);
      this.#group.allReduceSync(most, { op: ReduceOp.MAX });
      this.#unit = most[0];
    }
    return this.#unit;
  }
}

/** Every rank that trains has weight 1, and the sum is divided by the number of all ranks. */
export const equalWeights: Weigher = { divides: false, weigh: () => 1, anyRankTrains: () => true };

/** @throws InvalidArgumentError if `samples` is not a finite number above 0 */
export function checkedBatchSize(samples: number): number {
  if (samples > 0 && Number.isFinite(samples)) return samples;
  throw new InvalidArgumentError(`setBatchSize: expected a number of samples above 0, got ${samples}.`);
}

/** The first dimension of the first input of forward; 0 if it has no shape. */
export function samplesOf(inputs: readonly unknown[]): number {
  const { shape } = (inputs[0] ?? {}) as { shape?: readonly unknown[] };
  const samples = Array.isArray(shape) ? (shape as unknown[])[0] : undefined;
  return typeof samples === 'number' ? samples : 0;
}
