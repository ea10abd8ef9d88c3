import type { ElementRange, ParameterSharing } from 'ringrun';
import { store, type StoredTensor } from '../stored-tensor.ts';
import type { UpdateProgress } from './rule.ts';
import type { ParameterStateDict } from './state-dict.ts';

/** A state of a parameter. */
interface StateArray {
  readonly data: Float32Array;
  /** Owner of the memory; undefined: this process. */
  readonly sharing: ParameterSharing | undefined;
}

/** Optimizer state of one parameter. */
export class ParameterState {
  /** Index of the parameter, counted through all groups in order. */
  readonly position: number;
  #steps = 0;
  #isFresh = false;
  #arrays: Readonly<Record<string, StateArray>> = {};

  constructor(position: number) {
    this.position = position;
  }

  /** Progress at the next update. */
  get progress(): UpdateProgress {
    return { step: this.#steps + 1, isFresh: this.#isFresh };
  }

  /** The names of those states that have no array in this memory. */
  missing(names: readonly string[], sharing: ParameterSharing | undefined): string[] {
    return names.filter((name) => !(name in this.#arrays) || this.#arrays[name].sharing !== sharing);
  }

  /**
   * Makes an array of zeros that of a state. An existing state is copied into it: its own part, if it is shared. A new one
   * makes the state fresh until `count` is called.
   */
  place(name: string, { data, sharing }: StateArray, { begin, end }: ElementRange): void {
    if (name in this.#arrays) data.set(this.#arrays[name].data.subarray(begin, end), begin);
    else this.#isFresh = true;
    this.#arrays = { ...this.#arrays, [name]: { data, sharing } };
  }

  /** The arrays with these names. */
  arraysOf(names: readonly string[]): Readonly<Record<string, Float32Array>> {
    return Object.fromEntries(names.map((name) => [name, this.#arrays[name].data]));
  }

  /** Counts a completed update. */
  count(): void {
    this.#steps += 1;
    this.#isFresh = false;
  }

  /** A copy, or undefined before the first update. */
  save(names: readonly string[], shape: readonly number[], length: number): ParameterStateDict | undefined {
    if (this.#steps === 0) return undefined;
    const tensors = names.map((name) => [
      name,
      name in this.#arrays
        ? store(shape, this.#arrays[name].data)
        : { shape: [...shape], data: new Float32Array(length) },
    ]);
    return { ...Object.fromEntries(tensors), step: this.#steps } as ParameterStateDict;
  }

  /** Restores a copy of a saved state; undefined resets the state. */
  load(saved: ParameterStateDict | undefined): void {
    const { step, ...tensors } = saved ?? { step: 0 };
    this.#steps = step;
    this.#isFresh = false;
    this.#arrays = Object.fromEntries(
      Object.entries(tensors as Record<string, StoredTensor>).map(([name, { data }]) => [
        name,
        { data: data.slice(), sharing: undefined },
      ]),
    );
  }
}
