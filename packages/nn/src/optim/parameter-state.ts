import { store, type StoredTensor } from '../stored-tensor.ts';
import type { Moment } from './rule.ts';
import type { ParameterStateDict } from './state-dict.ts';

/** What an optimizer remembers of one parameter. */
export class ParameterState {
  /** Number of the parameter, counted through all groups in the order in which they came. */
  readonly position: number;
  #steps = 0;
  #isFresh = false;
  #arrays: Record<string, Float32Array> = {};

  constructor(position: number) {
    this.position = position;
  }

  /** Of the update that comes next. */
  get moment(): Moment {
    return { step: this.#steps + 1, isFresh: this.#isFresh };
  }

  /** The arrays under these names; new ones are zeros, and make the state fresh until an update has been counted. */
  arraysFor(names: readonly string[], length: number): Readonly<Record<string, Float32Array>> {
    for (const name of names) {
      if (name in this.#arrays) continue;
      this.#arrays[name] = new Float32Array(length);
      this.#isFresh = true;
    }
    return Object.fromEntries(names.map((name) => [name, this.#arrays[name]]));
  }

  /** Counts an update that was carried out. */
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

  /** Becomes what was saved, in arrays of its own, or what it was in the beginning. */
  load(saved: ParameterStateDict | undefined): void {
    const { step, ...tensors } = saved ?? { step: 0 };
    this.#steps = step;
    this.#isFresh = false;
    this.#arrays = Object.fromEntries(
      Object.entries(tensors as Record<string, StoredTensor>).map(([name, { data }]) => [name, data.slice()]),
    );
  }
}
