import { InvalidArgumentError } from '@ringrun/core';
import type { Stateful } from '@ringrun/core';
import { checkedLength } from './native-group/arguments.ts';

/** State of a {@link QuantizationError}. */
export interface QuantizationErrorState {
  /** One number for each element of the array. */
  error: Float32Array;
}

/**
 * What the roundings of `allReduceQuantized` lost of one array on this rank, and what the next call adds to the array
 * (error feedback, Seide et al. 2014; Karimireddy et al. 2019). Each rank keeps what it lost of its own numbers, and of
 * the sums that it rounds for all ranks. Zero at first.
 *
 * The state belongs to one rank: in a checkpoint, register it `perRank`. After a change of the number of ranks, each rank
 * goes on with its own; that of a rank that has left is lost.
 */
export class QuantizationError implements Stateful {
  /** One number for each element of the array, in the unit of its sum or average. Written by the collective. */
  readonly values: Float32Array;

  /**
   * @param length of the array
   * @throws InvalidArgumentError for a length that no typed array has
   */
  constructor(length: number) {
    this.values = new Float32Array(checkedLength(length));
  }

  /** Number of elements of the array. */
  get length(): number {
    return this.values.length;
  }

  /** The array is not copied. */
  stateDict(): QuantizationErrorState {
    return { error: this.values };
  }

  /** @throws InvalidArgumentError for the error of an array of another length */
  loadStateDict({ error }: QuantizationErrorState): void {
    if (error.length !== this.length) {
      throw new InvalidArgumentError(
        `QuantizationError: expected the state of ${this.length} elements, got ${error.length}. Load the state of the same array.`,
      );
    }
    this.values.set(error);
  }
}
