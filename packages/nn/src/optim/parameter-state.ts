import type { ElementRange, ParameterSharing } from '@ringrun/core';
import { ManagedBuffer } from '../executor/managed-buffer.ts';
import { store, type StoredTensor } from '../tensor/stored-tensor.ts';
import type { UpdateProgress } from './rule.ts';
import type { ParameterStateDict } from './state-dict.ts';

/** A state of a parameter. */
interface State {
  readonly memory: ManagedBuffer;
  /** Owner of the memory; undefined: this process. */
  readonly sharing: ParameterSharing | undefined;
}

/** Optimizer state of one parameter. */
export class ParameterState {
  /** Index of the parameter, counted through all groups in order. */
  readonly position: number;
  #steps = 0;
  #isFresh = false;
  #states: Readonly<Record<string, State>> = {};

  constructor(position: number) {
    this.position = position;
  }

  /** Progress at the next update. */
  get progress(): UpdateProgress {
    return { step: this.#steps + 1, isFresh: this.#isFresh };
  }

  /** True if the next update of both parameters has the same progress. */
  isAsFarAs(other: ParameterState): boolean {
    return this.#steps === other.#steps && this.#isFresh === other.#isFresh;
  }

  /** True if all these states are in this memory. */
  hasAll(names: readonly string[], sharing: ParameterSharing | undefined): boolean {
    for (const name of names) {
      if (!(name in this.#states) || this.#states[name].sharing !== sharing) return false;
    }
    return true;
  }

  /** The names of the states that are not in this memory. */
  missing(names: readonly string[], sharing: ParameterSharing | undefined): string[] {
    return names.filter((name) => !(name in this.#states) || this.#states[name].sharing !== sharing);
  }

  /**
   * Moves a state to zeroed memory. An existing state is copied there: only its own part, if the memory is shared. A new one
   * counts as fresh until `count` is called.
   */
  place(name: string, state: State, { begin, end }: ElementRange): void {
    if (name in this.#states)
      state.memory.array.set(this.#states[name].memory.array.subarray(begin, end), begin);
    else this.#isFresh = true;
    this.#states = { ...this.#states, [name]: state };
  }

  /** The states with these names. */
  memoryOf(names: readonly string[]): Readonly<Record<string, ManagedBuffer>> {
    return Object.fromEntries(names.map((name) => [name, this.#states[name].memory]));
  }

  /** Counts completed updates. */
  count(updates = 1): void {
    this.#steps += updates;
    this.#isFresh = false;
  }

  /** A copy, or undefined before the first update. */
  save(names: readonly string[], shape: readonly number[], length: number): ParameterStateDict | undefined {
    if (this.#steps === 0) return undefined;
    const tensors = names.map((name) => [
      name,
      name in this.#states
        ? store(shape, this.#states[name].memory.array)
        : { shape: [...shape], data: new Float32Array(length) },
    ]);
    return { ...Object.fromEntries(tensors), step: this.#steps } as ParameterStateDict;
  }

  /** Restores a copy of a saved state; undefined resets the state. */
  load(saved: ParameterStateDict | undefined): void {
    const { step, ...tensors } = saved ?? { step: 0 };
    this.#steps = step;
    this.#isFresh = false;
    this.#states = Object.fromEntries(
      Object.entries(tensors as Record<string, StoredTensor>).map(([name, { data }]) => [
        name,
        { memory: new ManagedBuffer(data.slice()), sharing: undefined },
      ]),
    );
  }
}
