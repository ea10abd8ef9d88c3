import { InvalidArgumentError, ReduceOp, type ProcessGroup } from '@ringrun/collectives';
import type { Weigher } from './reducer.ts';

/**
 * How much each rank's gradients count in a step, by its samples. The samples that count 1 are agreed on in the first step: the most that a rank has in it. So
 * equal batches count exactly 1, and their average has the same bytes as without weights.
 */
export class SampleWeights implements Weigher {
  readonly divides = true;
  readonly #group: ProcessGroup;
  #samples = 0;
  #fixed: number | undefined;
  /** 0 where no rank had any. */
  #unit: number | undefined;

  constructor(group: ProcessGroup) {
    this.#group = group;
  }

  /** Of one forward call. Several before an average add up. */
  saw(samples: number): void {
    this.#samples += samples;
  }

  /** Of all until the next average, whatever forward calls see. */
  fix(samples: number): void {
    this.#fixed = samples;
  }

  /** Of a rank that trains. */
  weigh(): number {
    const own = this.#fixed ?? (this.#samples > 0 ? this.#samples : 1);
    this.#samples = 0;
    this.#fixed = undefined;
    return own / this.#unitAmong(own);
  }

  anyoneTrains(): boolean {
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

/** Every rank that trains counts 1, and the sum is divided by the number of all. */
export const equalWeights: Weigher = { divides: false, weigh: () => 1, anyoneTrains: () => true };

/** @throws InvalidArgumentError for what is no number of samples */
export function checkedBatchSize(samples: number): number {
  if (samples > 0 && Number.isFinite(samples)) return samples;
  throw new InvalidArgumentError(`setBatchSize: expected a number of samples above 0, given ${samples}.`);
}

/** The first dimension of forward's first input, where it has one. */
export function samplesOf(inputs: readonly unknown[]): number {
  const { shape } = (inputs[0] ?? {}) as { shape?: readonly unknown[] };
  const samples = Array.isArray(shape) ? (shape as unknown[])[0] : undefined;
  return typeof samples === 'number' ? samples : 0;
}
