import { InvalidArgumentError, registry } from '@ringrun/core';
import { flatten } from './flat-state.ts';
import type { FlatState } from './flat-state.ts';
import type { Part } from './packed-parts.ts';
import { requireStateful } from './stateful.ts';
import type { Stateful } from './stateful.ts';

export interface Registered {
  object: Stateful;
  perRank: boolean;
}

/** The part for the `values` passed to save. */
export const valuesName = 'values';

/** The objects that a checkpoint contains. */
export class RegisteredObjects {
  readonly #registered = new Map<string, Registered>();

  /** Adds all objects, or none if one is invalid. */
  add(objects: Readonly<Record<string, unknown>>, perRank: boolean): void {
    const added = Object.entries(objects).map(([name, object]): [string, Registered] => {
      this.#requireFreeName(name);
      return [name, { object: requireStateful(name, unwrapped(object)), perRank }];
    });
    for (const [name, registered] of added) this.#registered.set(name, registered);
  }

  /** All objects by name, including the random states of the libraries that are loaded now. */
  all(): Map<string, Registered> {
    const random = Array.from(
      registry.randomStates,
      ([library, object]) => [`random.${library}`, { object, perRank: true }] as const,
    );
    return new Map([...this.#registered, ...random]);
  }

  /**
   * Collects this rank's states: of all objects on rank 0, of `perRank` objects on the others. Tensors are
   * not copied.
   */
  async collectStates(rank: number, values: unknown): Promise<Map<string, Part<FlatState>>> {
    const parts = new Map<string, Part<FlatState>>();
    for (const [name, { object, perRank }] of this.all()) {
      const isSaved = perRank || rank === 0;
      parts.set(name, { perRank, states: isSaved ? [flatten(await object.stateDict(), name)] : [] });
    }
    return parts.set(valuesName, {
      perRank: false,
      states: rank === 0 ? [flatten(values, valuesName)] : [],
    });
  }

  #requireFreeName(name: string): void {
    const problem = !/^[A-Za-z][\w-]*$/.test(name)
      ? 'a letter followed by letters, digits, _ or -'
      : name === valuesName
        ? 'another name, because save stores its `values` under this one'
        : this.#registered.has(name)
          ? 'another name, because this one is already registered'
          : undefined;
    if (problem === undefined) return;
    throw new InvalidArgumentError(`Checkpointer.register: expected ${problem}, got '${name}'.`);
  }
}

/** The model of a wrapper without its own state, as `DistributedDataParallel` is; otherwise the object itself. */
function unwrapped(object: unknown): unknown {
  const isWrapper = typeof object === 'object' && object !== null && 'module' in object;
  return isWrapper && !('stateDict' in object) ? object.module : object;
}

/** This rank's states of `perRank` parts. */
export function perRankStatesOf(parts: ReadonlyMap<string, Part<FlatState>>): Map<string, FlatState> {
  return new Map(
    [...parts].filter(([, { perRank }]) => perRank).map(([name, { states }]) => [name, states[0]]),
  );
}

/** Rank 0's parts, with the states of all ranks in `perRank` parts. */
export function mergePerRankStates(
  parts: ReadonlyMap<string, Part<FlatState>>,
  statesByRank: readonly ReadonlyMap<string, FlatState>[],
): Map<string, Part<FlatState>> {
  return new Map(
    Array.from(parts, ([name, part]) => [
      name,
      part.perRank ? { perRank: true, states: statesByRank.map((states) => states.get(name)!) } : part,
    ]),
  );
}
