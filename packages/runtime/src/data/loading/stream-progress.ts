import { InvalidArgumentError, requireInteger, requireSeed } from '@ringrun/core';
import { requireObject } from '../sampler-state.ts';

/** Progress of a loader over an iterable dataset, as plain data for checkpoints. The same on every rank. */
export interface StreamState {
  /** From 0. */
  epoch: number;
  /** Seed of the loader, which the dataset receives. */
  seed: number;
  /** Number of samples of this epoch that all ranks together have used, counting each batch as a full one. */
  samplesSeen: number;
  /** Samples in a batch. */
  batchSize: number;
  /** Number of ranks that share the dataset. */
  numReplicas: number;
  /** Number of worker threads of each rank. */
  numWorkers: number;
}

/** The parts of a state that a loader must share, because they decide which batch has which samples. */
type Division = Pick<StreamState, 'batchSize' | 'numReplicas' | 'numWorkers'>;

/** Counts the epochs and batches of a loader over an iterable dataset. */
export class StreamProgress {
  readonly #division: Division;
  #seed: number;
  #epoch = 0;
  #batchesSeen = 0;
  /** Whether an iteration has begun since the position was set: the next one begins the next epoch. */
  #isBegun = false;

  constructor(seed: number, division: Division) {
    this.#seed = seed;
    this.#division = division;
  }

  /** Begins an iteration. Returns its epoch and the number of batches to skip. */
  begin(): { epoch: number; seed: number; skips: number } {
    if (this.#isBegun) this.#moveTo(this.#epoch + 1);
    this.#isBegun = true;
    return { epoch: this.#epoch, seed: this.#seed, skips: this.#batchesSeen };
  }

  deliver(): void {
    this.#batchesSeen += 1;
  }

  finish(): void {
    this.#moveTo(this.#epoch + 1);
  }

  setEpoch(epoch: number): void {
    requireInteger(epoch, { who: 'DataLoader.setEpoch', what: 'epoch', min: 0 });
    if (this.#isBegun || epoch !== this.#epoch) this.#moveTo(epoch);
  }

  stateDict(): StreamState {
    const samplesSeen = this.#batchesSeen * samplesPerStep(this.#division);
    return { epoch: this.#epoch, seed: this.#seed, samplesSeen, ...this.#division };
  }

  loadStateDict(state: StreamState): void {
    const who = 'DataLoader.loadStateDict';
    requireObject(who, state);
    requireInteger(state.epoch, { who, what: 'epoch', min: 0 });
    requireInteger(state.samplesSeen, { who, what: 'samplesSeen', min: 0 });
    requireSeed(state.seed, who);
    for (const name of ['batchSize', 'numReplicas', 'numWorkers'] as const) {
      if (state[name] === this.#division[name] || state.samplesSeen === 0) continue;
      throw new InvalidArgumentError(
        `${who}: expected the state of a loader with ${name} ${this.#division[name]}, got one with ${state[name]}. ` +
          'In the middle of an epoch, an iterable dataset resumes only as it was divided: use the same value, or resume at the end of an epoch.',
      );
    }
    const samples = samplesPerStep(this.#division);
    if (state.samplesSeen % samples !== 0)
      throw new InvalidArgumentError(
        `${who}: expected samplesSeen to be a multiple of ${samples}, the samples of a step, got ${state.samplesSeen}. Use a state from stateDict().`,
      );
    this.#seed = state.seed;
    this.#moveTo(state.epoch);
    this.#batchesSeen = state.samplesSeen / samples;
  }

  #moveTo(epoch: number): void {
    this.#epoch = epoch;
    this.#batchesSeen = 0;
    this.#isBegun = false;
  }
}

function samplesPerStep({ batchSize, numReplicas }: Division): number {
  return batchSize * numReplicas;
}
