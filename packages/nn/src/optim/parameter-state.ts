import { store, type StoredTensor } from '../stored-tensor.ts';
import type { UpdateProgress } from './rule.ts';
import type { ParameterStateDict } from './state-dict.ts';

/** Optimizer state of one parameter. */
export class ParameterState {
  /** Index of the parameter, counted through all groups in order. */
  readonly position: number;
  #steps = 0;
  #isFresh = false;
  #arrays: Record<string, Float32Array> = {};

  constructor(position: number) {
    this.position = position;
  }

  /** Progress at the next update. */
  get progress(): UpdateProgress {
    return { step: this.#steps + 1, isFresh: this.#isFresh };
  }

  /** The arrays with these names. New arrays are zeros and make the state fresh until `count` is called. */
  arraysFor(names: readonly string[], length: number): Readonly<Record<string, Float32Array>> {
    for (const name of names) {
      if (name in this.#arrays) continue;
      this.#arrays[name] = new Float32Array(length);
      this.#isFresh = true;
    }
    return Object.fromEntries(names.map((name) => [name, this.#arrays[name]]));
  }

  /** Counts a completed update. */
  count(): void {
    this.#steps += 1;
    this.#isFresh = false;
  }

  /** A copy, or undefined before the first update. */
  save(names: readonly string[], shape: readonly number[], length: number): ParameterStateDict | undefined {
    if (this.#steps === 0) return undefined;
    const arrays = Object.entries(this.arraysFor(names, length));
    const tensors = arrays.map(([name, data]) => [name, store(shape, data)]);
    return { ...Object.fromEntries(tensors), step: this.#steps } as ParameterStateDict;
  }

  /** Restores a copy of a saved state; undefined resets the state. */
  load(saved: ParameterStateDict | undefined): void {
    const { step, ...tensors } = saved ?? { step: 0 };
    this.#steps = step;
    this.#isFresh = false;
    this.#arrays = Object.fromEntries(
      Object.entries(tensors as Record<string, StoredTensor>).map(([name, { data }]) => [name, data.slice()]),
    );
  }
}
