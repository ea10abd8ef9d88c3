import type { Moment } from './rule.ts';

/** What an optimizer remembers of one parameter. */
export class ParameterState {
  /** Number of the parameter, counted through all groups. */
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
}
